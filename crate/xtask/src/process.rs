//! Running other programs.
//!
//! What a thread runs shows its output on the terminal, or writes it to the thread's log where it has one: steps that
//! run beside each other are read one after the other.

use std::cell::RefCell;
use std::env;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

thread_local! {
    static LOG: RefCell<TaskLog> = const { RefCell::new(None) };
}

/// The log of this thread, for the threads that it starts.
pub(crate) type TaskLog = Option<Arc<File>>;

/// This thread's log.
pub(crate) fn log() -> TaskLog {
    LOG.with_borrow(Clone::clone)
}

/// Does the work with all output of this thread and of what it runs in the log.
pub(crate) fn logged<T>(log: TaskLog, work: impl FnOnce() -> T) -> T {
    let before = LOG.replace(log);
    let result = work();
    LOG.set(before);
    result
}

/// Prints a line where this thread's output goes.
pub(crate) fn say(line: &str) {
    match log() {
        // A log that cannot be written fails the next program that is started.
        Some(log) => drop(writeln!(log.as_ref(), "{line}")),
        None => println!("{line}"),
    }
}

/// Where the output of a program goes that this thread starts.
fn outlet() -> TaskResult<Stdio> {
    log()
        .map_or_else(|| Ok(Stdio::inherit()), |log| log.try_clone().map(Stdio::from))
        .map_err(|error| format!("the log of a step: {error}"))
}

/// What a task gives: its result, or a message for the person who ran it.
pub(crate) type TaskResult<T = ()> = Result<T, String>;

/// Says what set-up work is being done, so that a first run's minutes are explained.
pub(crate) fn announce(work: &str) {
    eprintln!("set-up: {work}");
}

/// Runs the command with its output shown; a failure names the command.
pub(crate) fn run(command: &mut Command) -> TaskResult {
    let status = command
        .stdout(outlet()?)
        .stderr(outlet()?)
        .status()
        .map_err(|error| format!("{}: {error}", line(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{}: {status}", line(command))) }
}

/// Runs the command and gives what it printed.
pub(crate) fn capture(command: &mut Command) -> TaskResult<String> {
    let output = command.stderr(outlet()?).output().map_err(|error| format!("{}: {error}", line(command)))?;
    if !output.status.success() {
        return Err(format!("{}: {}", line(command), output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{}: {error}", line(command)))
}

/// Whether the command runs and succeeds; what it prints is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// The first of the names that is a program in a folder of PATH.
pub(crate) fn find(names: &[&str]) -> Option<PathBuf> {
    find_in(names, &env::var_os("PATH").unwrap_or_default())
}

/// Earlier names win over earlier folders.
fn find_in(names: &[&str], path: &OsStr) -> Option<PathBuf> {
    names.iter().find_map(|name| which::which_in_global(name, Some(path)).ok()?.next())
}

/// The PATH of this process with the folders before it.
pub(crate) fn path_after(folders: &[PathBuf]) -> TaskResult<std::ffi::OsString> {
    let rest = env::var_os("PATH").unwrap_or_default();
    env::join_paths(folders.iter().cloned().chain(env::split_paths(&rest)))
        .map_err(|error| format!("PATH: {error}"))
}

/// The cargo that runs this task, for everything native.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

fn line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words: Vec<_> =
        std::iter::once(program).chain(command.get_args()).map(OsStr::to_string_lossy).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command() {
        let failure = run(Command::new("/no/such/folder/tool").arg("--flag")).unwrap_err();
        assert!(failure.starts_with("tool --flag: "), "{failure}");
    }

    #[test]
    fn an_earlier_name_wins_over_an_earlier_folder() {
        let folder = env::temp_dir().join(format!("servescope-find-{}", std::process::id()));
        let (first, second) = (folder.join("first"), folder.join("second"));
        std::fs::create_dir_all(&first).unwrap();
        std::fs::create_dir_all(&second).unwrap();
        for program in [first.join("google-chrome"), second.join("chromium")] {
            std::fs::copy(env::current_exe().unwrap(), program).unwrap();
        }
        std::fs::write(first.join("chromium"), "no program").unwrap();
        let path = env::join_paths([&first, &second]).unwrap();
        assert_eq!(find_in(&["chromium", "google-chrome"], &path), Some(second.join("chromium")));
        assert_eq!(find_in(&["chrome", "google-chrome"], &path), Some(first.join("google-chrome")));
        assert_eq!(find_in(&["firefox"], &path), None);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
