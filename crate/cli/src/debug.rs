//! `servescope debug`: steps through the decisions of a run, forward and back, and shows what each was taken on.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use clap::Args;
use servescope_engine::steps::DebugStepKind;
use servescope_output::debugger::{Debugger, Move, STEP_KINDS, step_kind};
use servescope_settings::diagnostic::Diagnostic;

use crate::debug_text;
use crate::input_args::InputArguments;
use crate::notes;
use crate::output::{CliError, print};
use crate::scenario_args::ScenarioArguments;
use crate::step_args::StepArguments;

/// The commands of the prompt.
const COMMANDS: &str = "\
n [N]            the next step, or N steps on
b [N]            the step before, or N steps back
s STEP           the step of this number, from 0 on
t SECONDS        the last step at or before this time
r ID             the first step about this request
next KIND        the next rejection, preemption, load or drafts
previous KIND    the rejection, preemption, load or drafts before
p                this step again
h                these commands
q                the end
";

#[derive(Args)]
#[command(after_help = after_help())]
pub(crate) struct DebugArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
    #[command(flatten)]
    inputs: InputArguments,
    #[command(flatten)]
    trace_steps: StepArguments,
    /// Begins at the last step at or before this time.
    #[arg(long, value_name = "SECONDS", conflicts_with_all = ["request", "next", "step_number"])]
    at: Option<f64>,
    /// Begins at the first step about this request.
    #[arg(long, value_name = "ID", conflicts_with_all = ["next", "step_number"])]
    request: Option<u32>,
    /// Begins at the first rejection, preemption, adapter load, or step about drafts.
    #[arg(long, value_name = "KIND", value_parser = STEP_KINDS, conflicts_with = "step_number")]
    next: Option<String>,
    /// Begins at the step of this number, from 0 on.
    #[arg(long = "step-number", value_name = "STEP")]
    step_number: Option<usize>,
    /// Shows this many steps, one after another, and ends.
    #[arg(long = "steps", value_name = "N")]
    count: Option<usize>,
    /// Prints each step as one line of JSON.
    #[arg(long)]
    json: bool,
}

fn after_help() -> String {
    format!(
        "A step is a decision of the gateway, of a scheduler or of an autoscaler, the loading of adapters, or a failure of a replica. With --at, --request, --next, \
         --step-number or --steps the steps are printed and the program ends. Otherwise it shows the first step, or the one that the \
         address of --link names, and reads \
         commands from standard input, one a line, with a prompt where that is a terminal:\n\n{COMMANDS}"
    )
}

pub(crate) fn run(arguments: &DebugArguments) -> Result<(), CliError> {
    let (mut scenario, steps) = arguments.scenario.with_steps(&arguments.trace_steps)?;
    arguments.inputs.apply_profile(&mut scenario)?;
    let loaded = match arguments.inputs.loaded()? {
        Some(loaded) => Some(steps.changed(loaded)?),
        None if !steps.is_empty() => Some(steps.generated(&scenario)?),
        None => None,
    };
    let mut debugger = Debugger::simulate(&scenario, loaded.as_ref())?;
    notes::print_notes(&debugger.notes());
    let begins = begins(arguments);
    // An address with a step opens the page's debugger there; an option wins over it.
    let linked = arguments.scenario.debugger_step().map(Move::To);
    if let Some(to) = begins.or(linked) {
        debugger.go(to)?;
    }
    let Some(count) = arguments.count.or(begins.map(|_| 1)) else {
        return read_commands(&mut debugger, arguments.json);
    };
    for place in 0..count {
        if place > 0 && debugger.go(Move::By(1)).is_err() {
            break;
        }
        show(&mut debugger, arguments.json)?;
    }
    Ok(())
}

/// Where the options say to begin.
fn begins(arguments: &DebugArguments) -> Option<Move> {
    let kind = arguments.next.as_deref().and_then(step_kind);
    arguments
        .at
        .map(Move::Time)
        .or(arguments.request.map(Move::Request))
        .or(kind.map(Move::First))
        .or(arguments.step_number.map(Move::To))
}

/// Prints the step at which the reader stands.
fn show(debugger: &mut Debugger, is_json: bool) -> Result<(), CliError> {
    let Some(view) = debugger.view() else { return Ok(()) };
    if is_json {
        return print(&format!("{}\n", serde_json::json!(view)));
    }
    print(&debug_text::step(&view))
}

/// What a line asks for.
enum Command {
    Go(Move),
    Again,
    Help,
    End,
    Nothing,
}

fn kind(word: Option<&str>) -> Result<DebugStepKind, String> {
    let kinds = STEP_KINDS.join(", ");
    let word = word.ok_or_else(|| format!("one of {kinds} expected"))?;
    step_kind(word).ok_or_else(|| format!("{word} is not one of {kinds}"))
}

fn number<T: std::str::FromStr>(word: Option<&str>, what: &str) -> Result<T, String> {
    let word = word.ok_or_else(|| format!("{what} expected"))?;
    word.parse().map_err(|_| format!("{what} expected, not {word}"))
}

/// How many steps; 1 where none is named.
fn count(word: Option<&str>) -> Result<i64, String> {
    word.map_or(Ok(1), |_| number::<u32>(word, "a whole number of steps").map(i64::from))
}

fn command(line: &str) -> Result<Command, String> {
    let mut words = line.split_whitespace();
    let Some(name) = words.next() else { return Ok(Command::Nothing) };
    let word = words.next();
    if let Some(more) = words.next() {
        return Err(format!("{name}: {more} is one word too many"));
    }
    let to = match name {
        "n" => Move::By(count(word)?),
        "b" => Move::By(-count(word)?),
        "s" => Move::To(number(word, "the number of a step")?),
        "t" => Move::Time(number(word, "a time in seconds")?),
        "r" => Move::Request(number(word, "the number of a request")?),
        "next" => Move::Next(kind(word)?),
        "previous" => Move::Previous(kind(word)?),
        "p" => return Ok(Command::Again),
        "h" | "help" | "?" => return Ok(Command::Help),
        "q" => return Ok(Command::End),
        _ => return Err(format!("{name} is no command; h lists them")),
    };
    Ok(Command::Go(to))
}

/// Reads commands until the end. At a terminal a bad one is reported and the next is read; from a pipe it ends the program.
fn read_commands(debugger: &mut Debugger, is_json: bool) -> Result<(), CliError> {
    show(debugger, is_json)?;
    let stdin = std::io::stdin();
    let is_terminal = stdin.is_terminal();
    let mut lines = stdin.lock();
    loop {
        if is_terminal {
            eprint!("debug> ");
            let _ = std::io::stderr().flush();
        }
        let mut line = Vec::new();
        let read = lines.read_until(b'\n', &mut line);
        if read.map_err(|error| CliError::Run(format!("standard input: {error}")))? == 0 {
            return Ok(());
        }
        let refused = match command(&String::from_utf8_lossy(&line)) {
            Ok(Command::End) => return Ok(()),
            Ok(Command::Nothing) => continue,
            Ok(Command::Help) => {
                print(COMMANDS)?;
                continue;
            }
            Ok(Command::Again) => None,
            Ok(Command::Go(to)) => debugger.go(to).err().map(|error: Diagnostic| error.message),
            Err(message) => Some(message),
        };
        match refused {
            None => show(debugger, is_json)?,
            Some(message) if is_terminal => eprintln!("{message}"),
            Some(message) => return Err(CliError::input(message)),
        }
    }
}
