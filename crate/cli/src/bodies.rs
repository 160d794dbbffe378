//! `servescope bodies`, and `generate --bodies`: requests as a server under test takes them, one line each.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use servescope_settings::notes::{Purpose, notes as notes_of};
use servescope_settings::parameters::{Id, Value};
use servescope_settings::scenario::{Scenario, sampling_problems};
use servescope_traces::arrivals::trace_of;
use servescope_workload::prompts::bodies::{SloraSetting, Texts};
use servescope_workload::prompts::choice::{ChoiceRule, Chosen};
use servescope_workload::prompts::{
    BodyLines, BodyOptions, Collection, CountTokens, Endpoint, Form, Synthesis,
};
use servescope_workload::{BASE_MODEL, Trace};

use crate::collections::collection;
use crate::notes;
use crate::output::{CliError, report_all};
use crate::read_args::ReadArguments;
use crate::scenario_args::ScenarioArguments;
use crate::tokenizer;

/// Bytes that are gathered before they are written.
const BUFFER: usize = 1 << 20;

#[derive(Args)]
pub(crate) struct BodiesArguments {
    /// Trace file of any known format.
    trace: PathBuf,
    /// Form of the bodies: slora, openai, vllm, aibrix or vllm_custom.
    #[arg(long, value_name = "FORM")]
    form: String,
    #[command(flatten)]
    scenario: ScenarioArguments,
    #[command(flatten)]
    read: ReadArguments,
    #[command(flatten)]
    body: BodyArguments,
    /// File to write; standard output if none.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// What stands in bodies beside a scenario's sampling.
#[derive(Args, Clone)]
#[command(next_help_heading = "Request bodies")]
pub(crate) struct BodyArguments {
    /// Collection of prompts (JSON Lines of `prompt`, or of `session_id` and `prompts`, or ShareGPT's conversations), or a folder
    /// of such files; may be given many times. Without one, prompts are made.
    #[arg(long, value_name = "FILE")]
    prompts: Vec<PathBuf>,
    /// First half-width of the band of lengths in which a prompt is chosen, as a share of the wanted length (AIBrix: 0.5;
    /// for Azure traces 0.1).
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    match_error: f64,
    /// Takes prompts in shuffled order, whatever their lengths.
    #[arg(long, alias = "any-length")]
    ignore_length: bool,
    /// Most sessions of a collection that are under way; 0 = all, chosen by the lengths of their next turns.
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    concurrent_sessions: usize,
    /// A model's tokenizer.json, by which prompts have exactly their lengths.
    #[arg(long, value_name = "FILE")]
    tokenizer: Option<PathBuf>,
    /// Counts the marks that the tokenizer sets around a text, such as a beginning-of-sequence token.
    #[arg(long, requires = "tokenizer")]
    special_tokens: bool,
    /// Name of the base model: llama-7b if neither this nor --slora-setting is given.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Name of an adapter: lora-{adapter}-rank-{rank} if neither this nor --slora-setting is given. {adapter} and {rank} stand
    /// for its index and rank, {index_in_rank} for its place among the adapters of its rank.
    #[arg(long, value_name = "NAME")]
    adapter_name: Option<String>,
    /// Names of the base model and the adapters as S-LoRA's benchmark server has them, S1 to S4 with --dummy; also the ranks of its
    /// adapters, unless workload.adapters.ranks is given.
    #[arg(long, value_name = "SETTING", ignore_case = true, value_parser = ["S1", "S2", "S3", "S4", "Real"])]
    slora_setting: Option<String>,
    /// Path of OpenAI's API.
    #[arg(long, value_enum, default_value_t = EndpointName::Chat)]
    endpoint: EndpointName,
}

impl BodyArguments {
    /// S-LoRA's setting, if one is given.
    fn setting(&self) -> Option<&'static SloraSetting> {
        self.slora_setting.as_deref().and_then(SloraSetting::named)
    }

    /// The name of the base model.
    pub(crate) fn model_name(&self) -> String {
        let named = self.setting().map(|setting| setting.model);
        self.model.as_deref().or(named).unwrap_or("llama-7b").to_owned()
    }

    /// The pattern of adapter names.
    fn adapter_pattern(&self) -> String {
        let named = self.setting().map(|setting| setting.adapter_name);
        self.adapter_name.as_deref().or(named).unwrap_or("lora-{adapter}-rank-{rank}").to_owned()
    }

    /// Gives adapters the ranks of S-LoRA's setting, where one is given and no ranks are.
    pub(crate) fn set_ranks(&self, scenario: &mut Scenario) -> Result<(), CliError> {
        let Some(setting) = self.setting().filter(|_| !scenario.given().any(|id| id == Id::Ranks)) else {
            return Ok(());
        };
        let ranks = setting.ranks.iter().map(|&rank| f64::from(rank)).collect();
        scenario.set(Id::Ranks, Value::List(ranks))?;
        Ok(())
    }

    /// That S-LoRA's server has no adapter of the rank of one that is asked for; nothing where names are given.
    fn check_ranks(&self, trace: &Trace) -> Result<(), CliError> {
        let Some(setting) = self.setting().filter(|_| self.adapter_name.is_none()) else { return Ok(()) };
        let asked = |id: usize| trace.adapter[id] != BASE_MODEL && !setting.ranks.contains(&trace.rank(id));
        let Some(id) = (0..trace.len()).find(|&id| asked(id)) else { return Ok(()) };
        let ranks: Vec<String> = setting.ranks.iter().map(u32::to_string).collect();
        let ranks = ranks.join(",");
        Err(CliError::input(format!(
            "--slora-setting {}: request {id} asks for adapter {} of rank {}, and the server's adapters have the ranks {ranks} \
             (--set workload.adapters.ranks={ranks})",
            setting.name,
            trace.adapter[id],
            trace.rank(id),
        )))
    }

    /// Names the base model where no option does.
    pub(crate) fn with_model(mut self, served: Option<&str>) -> Self {
        if self.slora_setting.is_none() {
            self.model = self.model.or(served.map(str::to_owned));
        }
        self
    }

    /// An option whose presence shows that bodies are meant.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        let given = [
            (!self.prompts.is_empty(), "--prompts"),
            (self.tokenizer.is_some(), "--tokenizer"),
            (self.ignore_length, "--ignore-length"),
            (self.model.is_some(), "--model"),
            (self.adapter_name.is_some(), "--adapter-name"),
            (self.slora_setting.is_some(), "--slora-setting"),
        ];
        given.into_iter().find(|(given, _)| *given).map(|(_, option)| option)
    }
}

/// [`Endpoint`] on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum EndpointName {
    Chat,
    Completions,
}

pub(crate) fn run(arguments: &BodiesArguments) -> Result<(), CliError> {
    let form = form(&arguments.form)?;
    let scenario = arguments.scenario.scenario()?;
    let loaded = arguments.read.read(&arguments.trace)?.loaded;
    report_all(&loaded.warnings);
    let trace = trace_of(&scenario, Some(&loaded))?;
    notes::print_notes(&notes_of(&scenario, &loaded.context(Purpose::Bodies)));
    write(form, &arguments.body, &scenario, &trace, arguments.output.as_deref())
}

/// The form called `name`.
pub(crate) fn form(name: &str) -> Result<Form, CliError> {
    let known = || {
        let names: Vec<&str> = Form::ALL.into_iter().map(Form::name).collect();
        CliError::input(format!("there is no form {name}; known are {}", names.join(", ")))
    };
    Form::from_name(name).ok_or_else(known)
}

/// Writes the bodies of `trace`.
pub(crate) fn write(
    form: Form,
    arguments: &BodyArguments,
    scenario: &Scenario,
    trace: &Trace,
    output: Option<&Path>,
) -> Result<(), CliError> {
    with_lines(form, arguments, scenario, trace, |lines| match output {
        Some(path) => {
            let input_error = |error| CliError::input(format!("{}: {error}", path.display()));
            stream(lines, File::create(path).map_err(input_error)?, &input_error)
        }
        None => stream(lines, std::io::stdout().lock(), &|error| {
            CliError::Run(format!("standard output: {error}"))
        }),
    })
}

/// Hands the lines of `trace` over, none of which is made yet.
pub(crate) fn with_lines<T>(
    form: Form,
    arguments: &BodyArguments,
    scenario: &Scenario,
    trace: &Trace,
    take: impl FnOnce(BodyLines<'_>) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let sampling = scenario.sampling();
    let problems = sampling_problems(&sampling, form);
    if !problems.is_empty() {
        return Err(problems.into());
    }
    if !(0.0..=1.0).contains(&arguments.match_error) {
        return Err(CliError::input(format!(
            "--match-error: {} is not between 0 and 1",
            arguments.match_error
        )));
    }
    arguments.check_ranks(trace)?;
    let ratio = scenario.characters_per_token();
    let tokenizer = arguments.tokenizer.as_deref();
    let tokenizer = tokenizer.map(|path| tokenizer::read(path, arguments.special_tokens)).transpose()?;
    let seed = scenario.number(Id::Seed) as u64;
    let options = BodyOptions {
        form,
        endpoint: match arguments.endpoint {
            EndpointName::Chat => Endpoint::Chat,
            EndpointName::Completions => Endpoint::Completions,
        },
        model: arguments.model_name(),
        adapter_name: arguments.adapter_pattern(),
        sampling,
    };
    let texts = match (&arguments.prompts[..], &tokenizer) {
        (paths @ [_, ..], counter) => {
            let collection = collection(paths, counter.is_some())?;
            let counter: &dyn CountTokens = counter.as_deref().unwrap_or(&ratio);
            Texts::Chosen(chosen(collection, counter, arguments, trace, seed)?)
        }
        ([], Some(counter)) => Texts::Made(Synthesis::by_count(seed, &**counter).map_err(CliError::input)?),
        ([], None) => Texts::Made(Synthesis::by_ratio(seed, ratio)),
    };
    take(BodyLines::new(trace, texts, options).map_err(|error| CliError::input(error.to_string()))?)
}

fn chosen(
    collection: Collection,
    counter: &dyn CountTokens,
    arguments: &BodyArguments,
    trace: &Trace,
    seed: u64,
) -> Result<Chosen, CliError> {
    let rule = ChoiceRule {
        by_length: !arguments.ignore_length,
        initial_error: arguments.match_error,
        concurrent_sessions: arguments.concurrent_sessions,
    };
    Chosen::new(collection, counter, trace, rule, seed)
        .map_err(|why| CliError::input(format!("--prompts: {why}")))
}

/// Writes line by line. A reader that went away (`| head`) ends the output quietly.
fn stream(
    mut lines: BodyLines<'_>,
    to: impl std::io::Write,
    input_error: &dyn Fn(std::io::Error) -> CliError,
) -> Result<(), CliError> {
    let mut writer = BufWriter::with_capacity(BUFFER, to);
    let mut text = String::new();
    loop {
        let more = lines.next_into(&mut text).map_err(|error| CliError::input(error.to_string()))?;
        let written = writer.write_all(text.as_bytes());
        match written.and_then(|()| if more { Ok(()) } else { writer.flush() }) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => return Err(input_error(error)),
            Ok(()) => text.clear(),
        }
        if !more {
            break;
        }
    }
    if lines.left_out() > 0 {
        eprintln!(
            "servescope: note: {} requests were left out: the collection's sessions were used up",
            lines.left_out()
        );
    }
    Ok(())
}
