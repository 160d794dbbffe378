//! What was asked for on the command line.

use crate::check;

/// Printed by `--help`, and after a command line that makes no sense.
pub(crate) const USAGE: &str = "\
usage: cargo xtask VERB

  serve [--port N]       build, then serve the page on 127.0.0.1:8080
  test [--whole] [--only STEP]... [--skip STEP]...
                         run the checks that every change must pass, or all that a release must pass
  weigh [--accept]       what the page weighs on the wire; or take that as the new bound (sizes.json)
  fuzz [--seconds N]     search every fuzz target for new failures, 60 s each
  build                  leave the whole page in dist/, for any static host
  dev [--port N]         serve, rebuild and reload on every change
  bench [--peers] [--out FILE]
                         measure the engine, the page and its sizes; or the engine beside other simulators
  package                only the wasm package and the generated sources
  generate               only the generated sources
  setup                  only install what is missing, the browser too

steps of test: setup, format, features, native, clippy, wasm, package, types, lint, unit, build, browser, size;
with --whole, or where named: reference, validate, fuzz

environment:
  SERVESCOPE_CHROMIUM    the browser to test with (else chromium, chromium-browser or google-chrome on PATH)
  CHROMEDRIVER           its driver (else chromedriver on PATH)";

/// One task.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Help,
    Setup,
    Generate,
    Package,
    Build,
    Serve { port: Option<u16> },
    Dev { port: Option<u16> },
    Test { choice: Choice, whole: bool },
    Weigh { accept: bool },
    Fuzz { seconds: u32 },
    Bench { peers: bool, out: Option<String> },
}

/// Which steps of the check to run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    only: Vec<String>,
    skip: Vec<String>,
}

impl Choice {
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

/// Reads the arguments after `cargo xtask`.
pub(crate) fn parse(arguments: &[String]) -> Result<Verb, String> {
    let Some((verb, rest)) = arguments.split_first() else {
        return Err("a verb is missing".to_owned());
    };
    if verb == "help" || arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        return Ok(Verb::Help);
    }
    let mut options = Options::default();
    let mut rest = rest.iter();
    while let Some(option) = rest.next() {
        match (verb.as_str(), option.as_str()) {
            ("bench", "--peers") | ("test", "--whole") | ("weigh", "--accept") => {
                options.flag = true;
                continue;
            }
            _ => {}
        }
        let value = rest.next().ok_or_else(|| format!("{option} has no value, or is not known"))?;
        options.take(verb, option, value)?;
    }
    let Options { port, choice, seconds, flag, out } = options;
    match verb.as_str() {
        "setup" => Ok(Verb::Setup),
        "generate" => Ok(Verb::Generate),
        "package" => Ok(Verb::Package),
        "build" => Ok(Verb::Build),
        "serve" => Ok(Verb::Serve { port }),
        "dev" => Ok(Verb::Dev { port }),
        "test" => Ok(Verb::Test { choice, whole: flag }),
        "weigh" => Ok(Verb::Weigh { accept: flag }),
        "fuzz" => Ok(Verb::Fuzz { seconds: seconds.unwrap_or(60) }),
        "bench" => Ok(Verb::Bench { peers: flag, out }),
        _ => Err(format!("{verb} is not a verb")),
    }
}

#[derive(Default)]
struct Options {
    port: Option<u16>,
    choice: Choice,
    seconds: Option<u32>,
    /// The verb's option without a value.
    flag: bool,
    out: Option<String>,
}

impl Options {
    fn take(&mut self, verb: &str, option: &str, value: &str) -> Result<(), String> {
        match (verb, option) {
            ("serve" | "dev", "--port") => {
                self.port = Some(value.parse().map_err(|_| format!("--port {value} is not a port"))?);
            }
            ("test", "--only") => self.choice.only.push(step(value)?),
            ("test", "--skip") => self.choice.skip.push(step(value)?),
            ("fuzz", "--seconds") => {
                let seconds = value.parse().ok().filter(|&seconds| seconds > 0);
                self.seconds =
                    Some(seconds.ok_or_else(|| format!("--seconds {value} is not a number above 0"))?);
            }
            ("bench", "--out") => self.out = Some(value.to_owned()),
            _ => return Err(format!("{verb} has no option {option}")),
        }
        Ok(())
    }
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

    fn read(line: &str) -> Result<Verb, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&words)
    }

    #[test]
    fn verbs_and_their_options() {
        assert_eq!(read("serve"), Ok(Verb::Serve { port: None }));
        assert_eq!(read("serve --port 9000"), Ok(Verb::Serve { port: Some(9000) }));
        assert_eq!(
            read("bench --out numbers.json"),
            Ok(Verb::Bench { peers: false, out: Some("numbers.json".to_owned()) })
        );
        assert_eq!(
            read("bench --peers --out numbers.json"),
            Ok(Verb::Bench { peers: true, out: Some("numbers.json".to_owned()) })
        );
        assert_eq!(read("fuzz --seconds 5"), Ok(Verb::Fuzz { seconds: 5 }));
        assert_eq!(read("weigh --accept"), Ok(Verb::Weigh { accept: true }));
        assert_eq!(read("test --help"), Ok(Verb::Help));
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
            "fuzz --seconds 0",
            "test --only fly",
        ] {
            assert!(read(line).is_err(), "{line}");
        }
    }

    #[test]
    fn steps_are_chosen_by_name() {
        let Ok(Verb::Test { choice: all, whole: false }) = read("test") else { panic!("test is a verb") };
        assert!(all.takes("format") && all.takes("size"));
        let Ok(Verb::Test { choice: some, whole: true }) =
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
