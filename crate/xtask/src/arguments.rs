//! What was asked for on the command line.

use std::num::{NonZero, ParseIntError};
use std::str::FromStr;

use lexopt::Parser;
use lexopt::prelude::*;

use crate::check::{self, StepChoice};

/// Printed by `--help`, and after a command line that makes no sense.
pub(crate) const USAGE: &str = "\
usage: cargo xtask VERB

  serve [--port N]       build, then serve the page on 127.0.0.1:8080
  test [--whole] [--only STEP]... [--skip STEP]...
                         run the checks that every change must pass, or all that a release must pass
  weigh                  what the page weighs on the wire, beside its bounds (sizes.json)
  fuzz [--seconds N]     search every fuzz target for new failures, 60 s each
  build                  leave the whole page in dist/, for any static host
  dev [--port N]         serve, rebuild and reload on every change
  bench [--peers] [--out FILE]
                         measure the engine, the page and its sizes; or the engine beside other simulators
  package                only the wasm package and the generated sources
  generate               only the generated sources
  setup                  only install what is missing, the browser too

steps of test: setup, format, features, native, clippy, wasm, package, types, lint, unit, build, browser, size;
with --whole, or where named: reference, validate, fuzz, python, firefox, lighthouse

environment:
  SERVESCOPE_CHROMIUM    the browser to test with (else chromium, chromium-browser or google-chrome on PATH)
  CHROMEDRIVER           its driver (else chromedriver on PATH)
  SERVESCOPE_FIREFOX     the Firefox to test with (else firefox-esr or firefox on PATH)";

/// One task.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ProjectTask {
    Help,
    Setup,
    Generate,
    Package,
    Build,
    Serve { port: Option<u16> },
    Dev { port: Option<u16> },
    Test { choice: StepChoice, whole: bool },
    Weigh,
    Fuzz { seconds: u32 },
    Bench { peers: bool, out: Option<String> },
}

/// Reads the arguments after `cargo xtask`.
pub(crate) fn parse(arguments: &[String]) -> Result<ProjectTask, String> {
    read(Parser::from_args(arguments.to_vec())).map_err(|error| error.to_string())
}

fn read(mut parser: Parser) -> Result<ProjectTask, lexopt::Error> {
    let verb = match parser.next()? {
        None => return Err("a verb is missing".into()),
        Some(Short('h') | Long("help")) => return Ok(ProjectTask::Help),
        Some(Value(verb)) => verb.string()?,
        Some(other) => return Err(other.unexpected()),
    };
    let (mut port, mut seconds, mut out) = (None, 60, None);
    let mut choice = StepChoice::default();
    // The verb's option without a value.
    let mut flag = false;
    while let Some(argument) = parser.next()? {
        match (verb.as_str(), argument) {
            (_, Short('h') | Long("help")) => return Ok(ProjectTask::Help),
            ("bench", Long("peers")) | ("test", Long("whole")) => flag = true,
            ("serve" | "dev", Long("port")) => port = Some(parser.value()?.parse_with(number::<u16>)?),
            ("test", Long("only")) => choice.only.push(parser.value()?.parse_with(step)?),
            ("test", Long("skip")) => choice.skip.push(parser.value()?.parse_with(step)?),
            ("fuzz", Long("seconds")) => seconds = parser.value()?.parse_with(number::<NonZero<u32>>)?.get(),
            ("bench", Long("out")) => out = Some(parser.value()?.string()?),
            (_, other) => return Err(other.unexpected()),
        }
    }
    Ok(match verb.as_str() {
        "help" => ProjectTask::Help,
        "setup" => ProjectTask::Setup,
        "generate" => ProjectTask::Generate,
        "package" => ProjectTask::Package,
        "build" => ProjectTask::Build,
        "serve" => ProjectTask::Serve { port },
        "dev" => ProjectTask::Dev { port },
        "test" => ProjectTask::Test { choice, whole: flag },
        "weigh" => ProjectTask::Weigh,
        "fuzz" => ProjectTask::Fuzz { seconds },
        "bench" => ProjectTask::Bench { peers: flag, out },
        _ => return Err(format!("{verb} is not a verb").into()),
    })
}

/// A number within the bounds of its type.
fn number<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: ParseIntError| error.to_string())
}

fn step(name: &str) -> Result<String, String> {
    if check::STEPS.iter().any(|step| step.name == name) {
        Ok(name.to_owned())
    } else {
        Err(format!("{name} is not a step"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<ProjectTask, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&words)
    }

    #[test]
    fn verbs_and_their_options() {
        assert_eq!(read("serve"), Ok(ProjectTask::Serve { port: None }));
        assert_eq!(read("serve --port 9000"), Ok(ProjectTask::Serve { port: Some(9000) }));
        assert_eq!(
            read("bench --out numbers.json"),
            Ok(ProjectTask::Bench { peers: false, out: Some("numbers.json".to_owned()) })
        );
        assert_eq!(
            read("bench --peers --out numbers.json"),
            Ok(ProjectTask::Bench { peers: true, out: Some("numbers.json".to_owned()) })
        );
        assert_eq!(read("fuzz --seconds 5"), Ok(ProjectTask::Fuzz { seconds: 5 }));
        assert_eq!(read("weigh"), Ok(ProjectTask::Weigh));
        assert_eq!(read("fuzz --seconds=5"), Ok(ProjectTask::Fuzz { seconds: 5 }));
        assert_eq!(read("fuzz"), Ok(ProjectTask::Fuzz { seconds: 60 }));
        for line in ["test --help", "--help", "-h", "help", "serve -h"] {
            assert_eq!(read(line), Ok(ProjectTask::Help), "{line}");
        }
    }

    #[test]
    fn a_wrong_line_is_refused() {
        for line in [
            "",
            "fly",
            "serve --port",
            "serve --port 99999",
            "build --port 1",
            "build --peers",
            "build --whole",
            "build more",
            "fuzz --seconds 0",
            "--port 1",
            "test --only fly",
        ] {
            assert!(read(line).is_err(), "{line}");
        }
    }

    #[test]
    fn steps_are_chosen_by_name() {
        let Ok(ProjectTask::Test { choice: all, whole: false }) = read("test") else {
            panic!("test is a verb")
        };
        assert!(all.takes("format") && all.takes("size"));
        let Ok(ProjectTask::Test { choice: some, whole: true }) =
            read("test --only format --whole --only clippy --skip clippy")
        else {
            panic!("these are options of test")
        };
        assert!(some.names("format") && !all.names("format"));
        assert!(some.takes("format"));
        assert!(!some.takes("clippy"));
        assert!(!some.takes("size"));
    }

    #[test]
    fn the_usage_names_every_step() {
        for step in check::STEPS {
            assert!(USAGE.contains(step.name), "{}", step.name);
        }
    }
}
