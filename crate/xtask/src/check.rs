//! Every check of the project. The native tests run beside the page's build; a failure does not
//! keep the others from running.

mod budget;
mod cases;
mod features;
mod pace;
mod python;
mod report;

use std::fs::{self, File};
use std::process::Command;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::process::{self, TaskResult};
use crate::programs::Program;
use crate::project::{NATIVE, Project, WEB};
use crate::toolchain::{self, Compiler};
use crate::{arrows, browser, fuzz, package, packages, page, programs, sizes, tools};

use pace::PaceMeasurement;
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
pub(crate) struct CheckStep {
    pub(crate) name: &'static str,
    lane: Lane,
    /// Left out of the quick check, where something quicker holds the same.
    only_whole: bool,
    run: fn(&Project) -> TaskResult,
}

const fn quick(name: &'static str, lane: Lane, run: fn(&Project) -> TaskResult) -> CheckStep {
    CheckStep { name, lane, only_whole: false, run }
}

const fn whole(name: &'static str, lane: Lane, run: fn(&Project) -> TaskResult) -> CheckStep {
    CheckStep { name, lane, only_whole: true, run }
}

/// The checks, the quick and the basic ones first. Each also sets up what it needs, for when it is run alone;
/// the first does it for all, so that the others' times are their own.
pub(crate) const STEPS: &[CheckStep] = &[
    quick("setup", Lane::First, set_up),
    quick("format", Lane::Rust, format),
    quick("features", Lane::Rust, features::check),
    quick("native", Lane::Rust, native),
    whole("reference", Lane::Rust, reference),
    whole("validate", Lane::Rust, validate),
    whole("fuzz", Lane::Rust, fuzz::check),
    whole("python", Lane::Rust, python::check),
    quick("package", Lane::Page, package::build),
    quick("types", Lane::Page, types),
    quick("lint", Lane::Page, lint),
    quick("unit", Lane::Page, unit),
    quick("build", Lane::Page, page::build),
    // Of one core each, beside the native tests.
    quick("wasm", Lane::Page, wasm),
    quick("clippy", Lane::Page, clippy),
    quick("browser", Lane::Last, chromium),
    whole("firefox", Lane::Last, firefox),
    quick("size", Lane::Last, sizes::check),
    whole("lighthouse", Lane::Last, lighthouse),
];

/// How often it is said what still runs.
const PULSE: Duration = Duration::from_secs(30);

/// Which steps of the check to run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct StepChoice {
    pub(crate) only: Vec<String>,
    pub(crate) skip: Vec<String>,
}

impl StepChoice {
    /// Whether the step of this name is to run.
    pub(crate) fn takes(&self, step: &str) -> bool {
        let named = |list: &[String]| list.iter().any(|name| name == step);
        (self.only.is_empty() || named(&self.only)) && !named(&self.skip)
    }

    /// Whether the step is asked for by its name.
    pub(crate) fn names(&self, step: &str) -> bool {
        self.only.iter().any(|name| name == step)
    }
}

/// Runs the chosen steps and prints a table of them; true when there were any, all passed, and all together were within
/// the bounds of the budget.
pub(crate) fn run(project: &Project, choice: &StepChoice) -> TaskResult<bool> {
    let is_taken = |step: &&CheckStep| {
        choice.takes(step.name) && (project.is_whole() || !step.only_whole || choice.names(step.name))
    };
    let steps: Vec<&CheckStep> = STEPS.iter().filter(is_taken).collect();
    // Only a run of every step is held to a budget: a step alone also does what others would have done for it.
    let is_all = STEPS.iter().filter(|step| !step.only_whole).all(|step| choice.takes(step.name));
    let budget = if is_all && !project.is_whole() { Some(budget::read(project.root())?) } else { None };
    let of = |lane: Lane| steps.iter().copied().filter(move |step| step.lane == lane);
    let mut ended: Vec<EndedStep> = of(Lane::First).map(|step| one(project, step)).collect();
    let (rust, page): (Vec<&CheckStep>, Vec<&CheckStep>) =
        (of(Lane::Rust).collect(), of(Lane::Page).collect());
    let start = Instant::now();
    let pace = budget.is_some().then(PaceMeasurement::begin);
    if rust.is_empty() || page.is_empty() {
        ended.extend(rust.iter().chain(&page).map(|step| one(project, step)));
    } else {
        ended.extend(beside(project, &[rust, page])?);
    }
    ended.extend(of(Lane::Last).map(|step| one(project, step)));
    let took = start.elapsed();
    let budget = budget.zip(pace).map(|(budget, pace)| {
        let slowdown = pace.end(budget.sample_s).unwrap_or(1.0);
        (budget, slowdown)
    });
    let (text, is_good) =
        report::table(&ended, took, budget.as_ref().map(|(budget, slowdown)| (budget, *slowdown)));
    print!("\n{text}");
    // A choice that leaves nothing to run has shown nothing.
    Ok(!ended.is_empty() && is_good)
}

/// Runs a step with its output on the terminal.
fn one(project: &Project, step: &CheckStep) -> EndedStep {
    println!("\n== {} ==", step.name);
    let start = Instant::now();
    let outcome = (step.run)(project);
    if let Err(message) = &outcome {
        println!("{} failed: {message}", step.name);
    }
    EndedStep { name: step.name, outcome, took: start.elapsed() }
}

/// What a lane prints while it runs.
enum StepNews {
    Started(&'static str),
    Ended(EndedStep),
}

/// Runs lists of steps beside each other. What a step prints goes to a file of its own in `target/check`, and from there to
/// the terminal when the step has ended.
fn beside(project: &Project, lanes: &[Vec<&CheckStep>]) -> TaskResult<Vec<EndedStep>> {
    let folder = project.root().join("target/check");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let (sender, news) = mpsc::channel();
    let mut ended = Vec::new();
    thread::scope(|scope| {
        for lane in lanes {
            let (sender, folder) = (sender.clone(), &folder);
            scope.spawn(move || {
                for step in lane {
                    // The receiver is gone only where its thread has panicked.
                    let _ = sender.send(StepNews::Started(step.name));
                    let start = Instant::now();
                    let log = folder.join(format!("{}.log", step.name));
                    let outcome = File::create(&log)
                        .map_err(|error| format!("{}: {error}", log.display()))
                        .and_then(|log| process::logged(Some(Arc::new(log)), || (step.run)(project)));
                    let _ = sender.send(StepNews::Ended(EndedStep {
                        name: step.name,
                        outcome,
                        took: start.elapsed(),
                    }));
                }
            });
        }
        drop(sender);
        let start = Instant::now();
        let mut running: Vec<&str> = Vec::new();
        loop {
            match news.recv_timeout(PULSE) {
                Ok(StepNews::Started(name)) => {
                    println!("[{:>4.0} s] {name} started", start.elapsed().as_secs_f64());
                    running.push(name);
                }
                Ok(StepNews::Ended(step)) => {
                    running.retain(|name| *name != step.name);
                    println!("\n== {} ==", step.name);
                    let log = fs::read(folder.join(format!("{}.log", step.name))).unwrap_or_default();
                    print!("{}", String::from_utf8_lossy(&log));
                    let word = match &step.outcome {
                        Ok(()) => "passed".to_owned(),
                        Err(message) => format!("failed: {message}"),
                    };
                    println!("[{:>4.0} s] {} {word}", start.elapsed().as_secs_f64(), step.name);
                    ended.push(step);
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    println!(
                        "[{:>4.0} s] still running: {}",
                        start.elapsed().as_secs_f64(),
                        running.join(", ")
                    );
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
        }
    });
    ended.sort_by_key(|ended| STEPS.iter().position(|step| step.name == ended.name));
    Ok(ended)
}

fn set_up(project: &Project) -> TaskResult {
    project.set_up()?;
    if project.is_whole() {
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
    let cases = cases::Notes::new(project)?;
    let mut command = project.cargo();
    command.arg("test").args(NATIVE).arg("--no-fail-fast").env("SERVESCOPE_CASES", cases.path());
    if project.is_whole() {
        command.arg("--release");
    }
    // It would take the place of every property's own number of cases.
    command.env_remove("PROPTEST_CASES");
    process::run(&mut command)?;
    process::say(&cases.table()?);
    Ok(())
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

/// The boundary's tests in a browser: through wasm-pack as a release is built, or in the profile of the quick check.
fn wasm(project: &Project) -> TaskResult {
    let browser = project.browser()?;
    let settings = project.settings();
    let toolchain = project.wasm_toolchain()?;
    let runner = tools::test_runner(project.root(), &settings.tools)?;
    let mut command = if project.is_whole() {
        let mut command = Command::new(tools::wasm_pack(project.root(), &settings.tools)?);
        let folders: Vec<_> = runner.parent().map(std::path::Path::to_path_buf).into_iter().collect();
        toolchain.apply(&mut command, &folders)?;
        command
            .args(["test", "--headless", "--chrome", "--release", "--mode", "no-install"])
            .arg("crate/web")
            .current_dir(project.root());
        command
    } else {
        let mut command = toolchain.cargo(project.root(), project.cargo())?;
        command
            .args(["test", "--package", WEB, "--target", toolchain::TARGET])
            // As the page is built: nearly everything is compiled already, and what is tested is what is served.
            .args(["--profile", &settings.build.profile, "--target-dir"])
            .arg(project.root().join("target"))
            .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", runner)
            .env("WASM_BINDGEN_TEST_ONLY_WEB", "1");
        command
    };
    // Whole simulations run in these tests, and the default is 20 s for all of them.
    command.env("WASM_BINDGEN_TEST_TIMEOUT", "300");
    browser.set_variables(&mut command);
    process::run(&mut command)
}

fn types(project: &Project) -> TaskResult {
    package::build(project)?;
    process::run(project.node_tool("tsc")?.arg("--build"))
}

fn lint(project: &Project) -> TaskResult {
    // The rules know types, and those of the package are among them.
    package::build(project)?;
    process::run(project.node_tool("eslint")?.args(["--max-warnings", "0", "."]))
}

fn unit(project: &Project) -> TaskResult {
    package::build(project)?;
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
    fn every_step_of_the_quick_check_has_a_budget_and_nothing_else() {
        let budget = budget::read(&crate::project::root()).unwrap();
        let mut steps: Vec<&str> =
            STEPS.iter().filter(|step| !step.only_whole).map(|step| step.name).collect();
        steps.sort_unstable();
        assert_eq!(budget.steps.keys().map(String::as_str).collect::<Vec<_>>(), steps);
    }
}
