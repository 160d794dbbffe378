//! Every check of the project, one after the other; a failure does not keep the others from running.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::arguments::Choice;
use crate::fuzz;
use crate::process::{self, Outcome};
use crate::project::Project;
use crate::sizes;
use crate::toolchain::{self, Compiler};

/// One check.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    run: fn(&Project) -> Outcome,
}

/// The checks, the quick and the basic ones first. Each also sets up what it needs, for when it is run alone;
/// the first does it for all, so that the others' times are their own.
pub(crate) const STEPS: &[Step] = &[
    Step { name: "setup", run: Project::set_up },
    Step { name: "format", run: format },
    Step { name: "clippy", run: clippy },
    Step { name: "native", run: native },
    Step { name: "reference", run: reference },
    Step { name: "fuzz", run: fuzz::check },
    Step { name: "wasm", run: wasm },
    Step { name: "types", run: types },
    Step { name: "lint", run: lint },
    Step { name: "unit", run: unit },
    Step { name: "build", run: Project::page },
    Step { name: "browser", run: browser },
    Step { name: "size", run: sizes::check },
];

/// How one step ended.
struct Result {
    name: &'static str,
    outcome: Outcome,
    took: Duration,
}

/// Runs the chosen steps and prints a table of them; true when there were any and all passed.
pub(crate) fn run(project: &Project, choice: &Choice) -> bool {
    let mut results = Vec::new();
    for step in STEPS.iter().filter(|step| choice.takes(step.name)) {
        println!("\n== {} ==", step.name);
        let start = Instant::now();
        let outcome = (step.run)(project);
        if let Err(message) = &outcome {
            println!("{} failed: {message}", step.name);
        }
        results.push(Result { name: step.name, outcome, took: start.elapsed() });
    }
    print!("\n{}", table(&results));
    // A choice that leaves nothing to run has shown nothing.
    !results.is_empty() && results.iter().all(|result| result.outcome.is_ok())
}

fn table(results: &[Result]) -> String {
    let mut text = String::new();
    for Result { name, outcome, took } in results {
        let (word, why) = match outcome {
            Ok(()) => ("passed", ""),
            Err(message) => ("FAILED", message.lines().next().unwrap_or_default()),
        };
        let _ = writeln!(
            text,
            "{}",
            format!("{name:<10} {word} {:>7.1} s  {why}", took.as_secs_f64()).trim_end()
        );
    }
    let passed = results.iter().filter(|result| result.outcome.is_ok()).count();
    let _ = writeln!(text, "\n{passed} passed, {} failed", results.len() - passed);
    text
}

fn format(project: &Project) -> Outcome {
    toolchain::components(project.root())?;
    process::run(process::cargo(project.root()).args(["fmt", "--all", "--check"]))
}

fn clippy(project: &Project) -> Outcome {
    toolchain::components(project.root())?;
    let deny = ["--all-targets", "--", "-D", "warnings"];
    process::run(process::cargo(project.root()).args(["clippy", "--workspace"]).args(deny))?;
    if project.wasm_toolchain()?.compiler == Compiler::Debian {
        println!("Debian's compiler has no clippy: what only wasm32 compiles is not linted here");
        return Ok(());
    }
    let web = ["clippy", "--package", "servescope-web", "--target", toolchain::TARGET];
    process::run(process::cargo(project.root()).args(web).args(deny))
}

/// Unit, integration and documentation tests.
fn native(project: &Project) -> Outcome {
    process::run(process::cargo(project.root()).args(["test", "--release", "--workspace"]))
}

/// The tests across crates once more, as a build of their own: the dependencies' features differ from the
/// workspace's, and the digests must not.
fn reference(project: &Project) -> Outcome {
    process::run(process::cargo(project.root()).args(["test", "--release", "--package", "servescope-tests"]))
}

fn wasm(project: &Project) -> Outcome {
    let browser = project.browser()?;
    let mut command = project.wasm_toolchain()?.tool("wasm-pack")?;
    command
        .args(["test", "--headless", "--chrome", "--release", "--mode", "no-install"])
        .arg(&project.settings().build.crate_folder)
        // Whole simulations run in these tests, and the default is 20 s for all of them.
        .env("WASM_BINDGEN_TEST_TIMEOUT", "300")
        .current_dir(project.root());
    browser.tell(&mut command);
    process::run(&mut command)
}

fn types(project: &Project) -> Outcome {
    project.package()?;
    process::run(project.node_tool("tsc")?.arg("--build"))
}

fn lint(project: &Project) -> Outcome {
    // The rules know types, and those of the package are among them.
    project.package()?;
    process::run(project.node_tool("eslint")?.args(["--max-warnings", "0", "."]))
}

fn unit(project: &Project) -> Outcome {
    project.package()?;
    process::run(project.node_tool("vitest")?.arg("run"))
}

fn browser(project: &Project) -> Outcome {
    let browser = project.browser()?;
    project.page()?;
    let mut command = project.node_tool("playwright")?;
    command.arg("test");
    browser.tell(&mut command);
    process::run(&mut command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_ends_with_the_count() {
        let result = |name, outcome| Result { name, outcome, took: Duration::from_millis(1250) };
        let results = [
            result("format", Ok(())),
            result("clippy", Err("cargo clippy: exit status: 101\nmore".to_owned())),
        ];
        let expected = "\
format     passed     1.2 s
clippy     FAILED     1.2 s  cargo clippy: exit status: 101

1 passed, 1 failed
";
        assert_eq!(table(&results), expected);
    }
}
