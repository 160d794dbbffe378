//! Every check of the project. The native tests run beside the page's build; a failure does not
//! keep the others from running.

mod cases;
mod features;
mod python;
mod report;

use std::fs::{self, File};
use std::process::Command;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::process::{self, TaskResult};
use crate::programs::Program;
use crate::project::{NATIVE, Project, WEB};
use crate::toolchain::{self, Compiler};
use crate::{arrows, browser, fuzz, packages, page, programs, sizes, tools};

use report::EndedStep;

/// What a step may run beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    /// Before everything else, alone.
    First,
    /// In this order, beside the page's: the native tests, the longest step.
    Rust,
    /// In this order, beside Rust's: the page, and what compiles once the native tests run.
    Page,
    /// After everything else, alone: a browser's times are part of what is tested.
    Last,
}

/// One check.
struct CheckStep {
    name: &'static str,
    lane: Lane,
    /// Seconds that it should take in the quick check on two cores of a quiet machine, with the tools installed and nothing of the
    /// project built; `None` for what only the whole check runs, where something quicker holds the same. A check never fails for
    /// its time: machines differ, and are shared.
    budget_s: Option<u32>,
    run: fn(&Project) -> TaskResult,
}

const fn quick(name: &'static str, lane: Lane, budget_s: u32, run: fn(&Project) -> TaskResult) -> CheckStep {
    CheckStep { name, lane, budget_s: Some(budget_s), run }
}

const fn whole(name: &'static str, lane: Lane, run: fn(&Project) -> TaskResult) -> CheckStep {
    CheckStep { name, lane, budget_s: None, run }
}

/// The checks, the quick and the basic ones first. Each also sets up what it needs, for when it is run alone;
/// the first does it for all, so that the others' times are their own.
const STEPS: &[CheckStep] = &[
    quick("setup", Lane::First, 20, set_up),
    quick("format", Lane::Rust, 5, format),
    quick("features", Lane::Rust, 5, features::check),
    quick("native", Lane::Rust, 420, native),
    whole("reference", Lane::Rust, reference),
    whole("validate", Lane::Rust, validate),
    whole("fuzz", Lane::Rust, fuzz::check),
    whole("python", Lane::Rust, python::check),
    quick("package", Lane::Page, 240, page::package),
    quick("types", Lane::Page, 15, types),
    quick("lint", Lane::Page, 20, lint),
    quick("unit", Lane::Page, 10, unit),
    quick("build", Lane::Page, 5, page::build),
    // Of one core, beside the native tests.
    quick("clippy", Lane::Page, 60, clippy),
    whole("wasm", Lane::Page, wasm),
    quick("browser", Lane::Last, 360, chromium),
    whole("firefox", Lane::Last, firefox),
    quick("size", Lane::Last, 10, sizes::check),
    whole("lighthouse", Lane::Last, lighthouse),
];

/// Seconds that all steps of the quick check but the set-up should take together, some beside others.
const BUDGET_S: u32 = 900;

/// How often it is said what still runs.
const PULSE: Duration = Duration::from_secs(30);

/// Which steps of the check to run, and how much each does.
#[derive(Debug, Default, Args)]
pub(crate) struct StepChoice {
    /// Check everything at its full size, as a release must pass it
    #[arg(long)]
    pub(crate) whole: bool,
    /// Run this step, and no other that is not named
    #[arg(long, value_name = "STEP", value_parser = step_names())]
    only: Vec<String>,
    /// Leave this step out
    #[arg(long, value_name = "STEP", value_parser = step_names())]
    skip: Vec<String>,
}

fn step_names() -> PossibleValuesParser {
    STEPS.iter().map(|step| step.name).into()
}

impl StepChoice {
    fn takes(&self, step: &CheckStep) -> bool {
        let named = |list: &[String]| list.iter().any(|name| name == step.name);
        let is_due = self.only.is_empty() && (self.whole || step.budget_s.is_some());
        (is_due || named(&self.only)) && !named(&self.skip)
    }
}

/// Runs the chosen steps and prints a table of them; true when there were any, and all passed.
pub(crate) fn run(project: &Project, choice: &StepChoice) -> TaskResult<bool> {
    let of = |lane: Lane| STEPS.iter().filter(move |step| step.lane == lane && choice.takes(step));
    let mut ended: Vec<EndedStep<'_>> = of(Lane::First).map(|step| one(project, step)).collect();
    let lanes = [Lane::Rust, Lane::Page].map(|lane| of(lane).collect::<Vec<_>>());
    let start = Instant::now();
    if lanes.iter().any(Vec::is_empty) {
        ended.extend(lanes.iter().flatten().map(|step| one(project, step)));
    } else {
        ended.extend(beside(project, &lanes)?);
    }
    ended.extend(of(Lane::Last).map(|step| one(project, step)));
    // A step alone also does what others would have done for it.
    let is_all = !choice.whole && STEPS.iter().all(|step| step.budget_s.is_none() || choice.takes(step));
    print!("\n{}", report::table(&ended, start.elapsed(), is_all.then_some(BUDGET_S)));
    // A choice that leaves nothing to run has shown nothing.
    Ok(!ended.is_empty() && ended.iter().all(|step| step.outcome.is_ok()))
}

/// Runs a step with its output on the terminal.
fn one<'a>(project: &Project, step: &'a CheckStep) -> EndedStep<'a> {
    println!("\n== {} ==", step.name);
    let start = Instant::now();
    let outcome = (step.run)(project);
    if let Err(message) = &outcome {
        println!("{} failed: {message}", step.name);
    }
    EndedStep { step, outcome, took: start.elapsed() }
}

/// Runs lists of steps beside each other. What a step prints goes to a file of its own in `target/check`, and from there to
/// the terminal when the step has ended.
fn beside<'a>(project: &Project, lanes: &[Vec<&'a CheckStep>]) -> TaskResult<Vec<EndedStep<'a>>> {
    let folder = project.root().join("target/check");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let (sender, news) = mpsc::channel();
    let mut ended = Vec::new();
    thread::scope(|scope| {
        for lane in lanes {
            let (sender, folder) = (sender.clone(), &folder);
            scope.spawn(move || {
                for step in lane {
                    let start = Instant::now();
                    let log = folder.join(format!("{}.log", step.name));
                    let outcome = File::create(&log)
                        .map_err(|error| format!("{}: {error}", log.display()))
                        .and_then(|log| process::logged(Some(Arc::new(log)), || (step.run)(project)));
                    // The receiver is gone only where its thread has panicked.
                    let _ = sender.send(EndedStep { step, outcome, took: start.elapsed() });
                }
            });
        }
        drop(sender);
        let start = Instant::now();
        let mut left: Vec<&str> = lanes.iter().flatten().map(|step| step.name).collect();
        loop {
            match news.recv_timeout(PULSE) {
                Ok(EndedStep { step, outcome, took }) => {
                    left.retain(|name| *name != step.name);
                    println!("\n== {} ==", step.name);
                    let log = fs::read(folder.join(format!("{}.log", step.name))).unwrap_or_default();
                    print!("{}", String::from_utf8_lossy(&log));
                    let word =
                        outcome.as_ref().err().map_or("passed".to_owned(), |why| format!("failed: {why}"));
                    println!("{} {word}", step.name);
                    ended.push(EndedStep { step, outcome, took });
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    println!("[{:>4.0} s] left: {}", start.elapsed().as_secs_f64(), left.join(", "));
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
        }
    });
    ended.sort_by_key(|ended| STEPS.iter().position(|step| step.name == ended.step.name));
    Ok(ended)
}

fn set_up(project: &Project) -> TaskResult {
    project.set_up()?;
    if project.is_whole() {
        tools::test_runner(project.root(), &project.settings().tools)?;
        tools::wasm_pack(project.root(), &project.settings().tools)?;
        fuzz::set_up(project)?;
        browser::firefox()?;
    }
    Ok(())
}

fn format(project: &Project) -> TaskResult {
    toolchain::components(project.root())?;
    process::run(project.cargo().args(["fmt", "--all", "--check"]))?;
    arrows::check(project.root())
}

fn clippy(project: &Project) -> TaskResult {
    toolchain::components(project.root())?;
    let deny = ["--all-targets", "--", "-D", "warnings"];
    process::run(project.cargo().args(["clippy", "--workspace"]).args(deny))?;
    // The tests of the boundary, which only a browser runs, are among what is linted natively; nothing else is compiled for
    // wasm32 alone.
    if !project.is_whole() {
        return Ok(());
    }
    if project.wasm_toolchain()?.compiler == Compiler::Debian {
        process::say("Debian's compiler has no clippy: nothing is linted for wasm32 here");
        return Ok(());
    }
    let modules = ["--package", "servescope-boundary", "--package", "servescope-studio", "--package", WEB];
    process::run(project.cargo().arg("clippy").args(modules).args(["--target", toolchain::TARGET]).args(deny))
}

/// Unit, integration and documentation tests, and the programs that later steps use.
fn native(project: &Project) -> TaskResult {
    let mut command = project.cargo();
    command.arg("test").args(NATIVE).arg("--no-fail-fast");
    if project.is_whole() {
        command.arg("--release");
    }
    // It would take the place of every property's own number of cases.
    command.env_remove("PROPTEST_CASES");
    cases::counted(project, &mut command)
}

/// The tests across crates once more, as a build of their own: the dependencies' features differ from the
/// workspace's, and the digests must not.
fn reference(project: &Project) -> TaskResult {
    process::run(project.cargo().args(["test", "--release", "--package", "servescope-tests"]))
}

/// All closed forms, thresholds and published rows at their full length.
fn validate(project: &Project) -> TaskResult {
    process::run(project.cargo().args(["run", "--release", "--package", "servescope-cli", "--", "validate"]))
}

/// The boundary's tests in a browser, through wasm-pack. The quick check leaves them out: `browser` holds the page to the same
/// digests, and goes the same ways.
fn wasm(project: &Project) -> TaskResult {
    let browser = project.browser()?;
    let settings = project.settings();
    let toolchain = project.wasm_toolchain()?;
    let runner = tools::test_runner(project.root(), &settings.tools)?;
    let mut command = Command::new(tools::wasm_pack(project.root(), &settings.tools)?);
    let folders: Vec<_> = runner.parent().map(std::path::Path::to_path_buf).into_iter().collect();
    toolchain.apply(&mut command, &folders)?;
    command.args(["test", "--headless", "--chrome", "--mode", "no-install", "crate/web"]);
    // As the page is built: nearly everything is compiled already.
    command.args(["--profile", &settings.build.profile]).current_dir(project.root());
    // Whole simulations run in these tests, and the default is 20 s for all of them.
    command.env("WASM_BINDGEN_TEST_TIMEOUT", "300");
    browser.set_variables(&mut command);
    process::run(&mut command)
}

fn types(project: &Project) -> TaskResult {
    page::package(project)?;
    process::run(project.node_tool("tsc")?.arg("--build"))
}

fn lint(project: &Project) -> TaskResult {
    // The rules know types, and those of the package are among them.
    page::package(project)?;
    process::run(project.node_tool("eslint")?.args(["--max-warnings", "0", "."]))
}

fn unit(project: &Project) -> TaskResult {
    page::package(project)?;
    process::run(project.node_tool("vitest")?.arg("run"))
}

/// The page in Chromium: in the quick check without a window, where that is installed.
fn chromium(project: &Project) -> TaskResult {
    let browser = project.browser()?;
    page::build(project)?;
    // Asked the same questions as the page.
    programs::build(project, &[Program::Terminal])?;
    let mut command = project.node_tool("playwright")?;
    command.arg("test").env("SERVESCOPE_TERMINAL", Program::Terminal.path(project));
    if project.is_whole() {
        browser.set_variables(&mut command);
    } else {
        browser.set_variables_without_window(&mut command);
    }
    process::run(&mut command)
}

/// The page and its lessons in Firefox, which Playwright drives in no build but its own: through WebDriver BiDi.
fn firefox(project: &Project) -> TaskResult {
    let firefox = browser::firefox()?;
    page::build(project)?;
    programs::build(project, &[Program::Terminal])?;
    let mut command = project.node_tool("vitest")?;
    command.args(["run", "--config", "vitest.firefox.config.ts"]);
    command.env(browser::FIREFOX, firefox).env("SERVESCOPE_TERMINAL", Program::Terminal.path(project));
    process::run(&mut command)
}

/// Lighthouse on each tab of the built page. It is larger than all other tools of the page together, so that it is a package
/// of its own, which this step alone installs.
fn lighthouse(project: &Project) -> TaskResult {
    let browser = project.browser()?;
    page::build(project)?;
    let folder = project.www().join("tests/lighthouse");
    packages::install(&folder)?;
    let node = process::find(&["node"]).ok_or("node is missing: install Node 20.19 or newer")?;
    let mut command = Command::new(node);
    command.arg("audit.mjs").current_dir(folder);
    browser.set_variables(&mut command);
    process::run(&mut command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_chosen_by_name() {
        let chosen = |whole, only: &[&str], skip: &[&str]| {
            let [only, skip] = [only, skip].map(|names| names.iter().map(|&name| name.to_owned()).collect());
            let choice = StepChoice { whole, only, skip };
            STEPS.iter().filter(|step| choice.takes(step)).map(|step| step.name).collect::<Vec<_>>()
        };
        assert!(chosen(false, &[], &[]).contains(&"native") && !chosen(false, &[], &[]).contains(&"fuzz"));
        assert!(chosen(true, &[], &[]).len() == STEPS.len());
        assert_eq!(chosen(false, &["fuzz", "clippy", "size"], &["clippy"]), ["fuzz", "size"]);
    }
}
