//! What a file is, decided from its beginning before anything in it is judged: a scenario, a trace of requests, the result of a
//! load generator, the configuration of a model or of an adapter, a table of operator times, a line that launches a server, or a link.

mod eplb_config;
mod launch_line;
mod outline;
mod speculative_config;
mod tool;

use serde_json::Value as Json;
use servescope_workload::formats::{
    Format, FormatError, Mapping, RECIPE_KEY, RECIPE_MARK, columns, guess, unpacked_head,
};

use crate::diagnostic::{Diagnostic, shown};
use crate::json_text::finite;
use crate::link::quoted;
use crate::profiles::operator_table_column;
use crate::scenario::is_scenario;
use crate::yaml_text::{beginning, is_like_yaml};
pub use launch_line::Launched;
pub use launch_line::Server;
use outline::Outline;
pub use tool::Tool;

/// Bytes of a file from which its kind is decided.
pub const HEAD_BYTES: usize = 64 << 10;
/// Keys that are told of a file.
const MOST_TOLD: usize = 6;

/// How a file has rates over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CurveForm {
    /// JSON of AIBrix: a sine.
    Pattern,
    /// CSV as Grafana exports a panel: a column `Time`, and the rate.
    Rates,
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A scenario, a preset of the page, or a recipe.
    Scenario,
    /// Requests with their times.
    Trace(Format),
    /// Lengths of requests without times.
    Lengths(Format),
    /// A table or JSON Lines of no known format, whose columns can be guessed.
    Table,
    /// ServeGen's clients.
    Clients(Format),
    /// The result of a load generator.
    Result(Tool),
    /// The `config.json` of a model.
    ModelConfig,
    /// The `adapter_config.json` of a LoRA adapter.
    AdapterConfig,
    /// Times of operators: of Vidur's profiler, or a profile fitted to them.
    OperatorTable,
    /// Rates over time.
    Curve(CurveForm),
    /// A line that launches a server.
    LaunchLine(Server),
    /// An address of the page.
    Link,
    /// The summary of a run of Servescope.
    Summary,
}

impl FileKind {
    /// Its name in replies.
    pub fn code(self) -> &'static str {
        match self {
            Self::Scenario => "scenario",
            Self::Trace(_) => "trace",
            Self::Lengths(_) => "lengths",
            Self::Clients(_) => "clients",
            Self::Table => "table",
            Self::Result(_) => "result",
            Self::ModelConfig => "model_config",
            Self::AdapterConfig => "adapter_config",
            Self::OperatorTable => "operator_table",
            Self::Curve(_) => "curve",
            Self::LaunchLine(_) => "launch_line",
            Self::Link => "link",
            Self::Summary => "summary",
        }
    }

    /// The name of the tool, the format or the server; "" where the kind says all.
    pub fn detail(self) -> &'static str {
        match self {
            Self::Trace(format) | Self::Lengths(format) | Self::Clients(format) => format.name(),
            Self::Result(tool) => tool.name(),
            Self::Curve(CurveForm::Pattern) => "aibrix_pattern",
            Self::Curve(CurveForm::Rates) => "rates_csv",
            Self::LaunchLine(server) => server.name(),
            _ => "",
        }
    }

    /// What it is, in English.
    pub fn text(self) -> String {
        let detail = self.detail();
        match self {
            Self::Scenario => "a scenario of Servescope".to_owned(),
            Self::Trace(_) => format!("a trace of requests (format {detail})"),
            Self::Lengths(_) => format!("lengths of requests without arrival times (format {detail})"),
            Self::Clients(_) => format!("clients of ServeGen (format {detail})"),
            Self::Result(_) => format!("a result of {detail}"),
            Self::Table => "a table of requests in no known format".to_owned(),
            Self::ModelConfig => "the config.json of a model".to_owned(),
            Self::AdapterConfig => "the adapter_config.json of a LoRA adapter".to_owned(),
            Self::OperatorTable => "a table of operator times".to_owned(),
            Self::Curve(CurveForm::Pattern) => "a pattern of AIBrix".to_owned(),
            Self::Curve(CurveForm::Rates) => "a table of rates over time".to_owned(),
            Self::LaunchLine(_) => format!("a line that launches {detail}"),
            Self::Link => "a link to Servescope's page".to_owned(),
            Self::Summary => "the summary of a run of Servescope".to_owned(),
        }
    }

    /// The terminal's command that goes on with a file of this kind; `text` is its beginning.
    pub fn command(self, file: &str, text: &str) -> String {
        let name = quoted(file);
        match self {
            Self::Scenario | Self::Curve(_) => format!("servescope simulate {name}"),
            Self::Trace(_) => format!("servescope simulate --trace {name}"),
            Self::Lengths(_) => format!("servescope simulate --lengths-from {name}"),
            Self::Table => {
                let map = guessed(text.as_bytes())
                    .map_or_else(|| "arrival=…,input=…,output=…".to_owned(), |map| map.to_text());
                format!("servescope convert {name} --map {} --to servescope -o TRACE.csv", quoted(&map))
            }
            Self::Clients(Format::ServeGenLengths) => {
                format!("servescope generate --servegen WINDOWS.csv --servegen-lengths {name}")
            }
            Self::Clients(_) => format!("servescope generate --servegen {name}"),
            Self::Result(_) => {
                format!("servescope overlay {name} --set fleet.gpu=NAME --set fleet.model=NAME")
            }
            Self::ModelConfig => format!("servescope simulate --model-config {name}"),
            Self::AdapterConfig => format!("servescope simulate --adapter-config {name}"),
            Self::OperatorTable if text.starts_with("servescope-profile ") => {
                format!("servescope profile operators --profile {name}")
            }
            Self::OperatorTable => format!("servescope profile fit --mlp {name} --help"),
            Self::LaunchLine(server) => server.command(text),
            Self::Link => format!("servescope simulate --link {}", quoted(text.trim())),
            Self::Summary => "servescope compare A.json B.json".to_owned(),
        }
    }
}

/// What the columns of a table seem to be, where there is a guess for each that is needed.
fn guessed(bytes: &[u8]) -> Option<Mapping> {
    let mapping = guess(&columns(bytes).ok()?);
    mapping.require().ok().map(|()| mapping)
}

/// The columns of a table, or the keys of its objects, that it is known by.
fn of_table(text: &str) -> Option<Recognised> {
    // The last row may be cut off.
    let whole = text.rfind('\n').filter(|_| text.len() + 4 > HEAD_BYTES).map_or(text, |end| &text[..end]);
    let mapping = guessed(whole.as_bytes())?;
    let names: Vec<&str> =
        ["arrival", "input", "output"].iter().filter_map(|role| Some(mapping.get(role)?.0)).collect();
    Some(Recognised::new(FileKind::Table, &names))
}

/// What a file was found to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recognised {
    /// Its kind.
    pub kind: FileKind,
    /// The keys, columns or words that decided it.
    pub keys: Vec<String>,
}

impl Recognised {
    fn new(kind: FileKind, keys: &[&str]) -> Self {
        Self { kind, keys: keys.iter().map(|key| shown(key)).collect() }
    }

    /// The keys that decided it, in a sentence.
    pub fn keys_text(&self) -> String {
        self.keys.join(", ")
    }

    /// The error that a file which was to be of another kind is of this one. `wanted` says what it was to be, `text` is its
    /// beginning.
    pub fn instead_of(&self, wanted: &str, name: &str, text: &str) -> Diagnostic {
        let (what, keys) = (self.kind.text(), self.keys_text());
        let file = if name.is_empty() { "FILE" } else { name };
        let command = self.kind.command(file, text);
        let message = format!("this is no {wanted}: it is {what}, by {keys}; open it with: {command}");
        Diagnostic::error("other_kind", "", message)
            .text("kind", self.kind.code())
            .text("what", &what)
            .text("detail", self.kind.detail())
            .text("keys", &keys)
    }
}

/// What can be said of a file of no known kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unrecognised {
    /// What it looks like: `json`, `yaml`, `table`, `text`, `binary` or `empty`.
    pub looks: &'static str,
    /// Its first keys, columns or words.
    pub keys: Vec<String>,
}

impl Unrecognised {
    fn new<'k>(looks: &'static str, keys: impl Iterator<Item = &'k str>) -> Self {
        Self { looks, keys: keys.take(MOST_TOLD).map(shown).collect() }
    }

    /// In English.
    pub fn text(&self) -> String {
        let keys = self.keys.join(", ");
        match self.looks {
            "empty" => "the file is empty".to_owned(),
            "binary" => "the bytes are no text".to_owned(),
            "json" => format!("JSON of no known kind; it begins with {keys}"),
            "yaml" => format!("YAML of no known kind; it begins with {keys}"),
            "table" => format!(
                "a table of no known kind; its first columns are {keys}; say what they are with servescope convert --map arrival=COLUMN:ms,input=COLUMN,output=COLUMN"
            ),
            _ => format!("text of no known kind; it begins with {keys:?}"),
        }
    }
}

/// Decides what a file is from its bytes, of which [`HEAD_BYTES`] are looked at; packed with gzip or not.
///
/// # Errors
/// What can be said of a file of no known kind.
pub fn recognise(bytes: &[u8]) -> Result<Recognised, Unrecognised> {
    let head = unpacked_head(bytes, HEAD_BYTES);
    let text = match std::str::from_utf8(&head) {
        Ok(text) => text,
        // The last character may be cut off.
        Err(error) if head.len() - error.valid_up_to() < 4 && head.len() == HEAD_BYTES => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return Err(Unrecognised::new("binary", std::iter::empty())),
    };
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.trim_end().is_empty() {
        return Err(Unrecognised::new("empty", std::iter::empty()));
    }
    if text.contains('\0') {
        return Err(Unrecognised::new("binary", std::iter::empty()));
    }
    if text.starts_with(['{', '[']) {
        return of_json(text);
    }
    if !is_like_yaml(text) {
        return of_text(text);
    }
    let outline = Outline::of_value(&beginning(text));
    // A report may hold the lines that launched its servers.
    match Tool::of_keys(&outline).filter(|(tool, _)| tool.has_documents()) {
        Some((tool, keys)) => Ok(Recognised::new(FileKind::Result(tool), &keys)),
        None => of_text(text).map_err(|unknown| match outline.keys().next() {
            Some(_) if unknown.looks == "text" => Unrecognised::new("yaml", outline.keys()),
            _ => unknown,
        }),
    }
}

/// The error of a trace file that was rejected: that it is of another kind, where it is.
pub fn trace_error(name: &str, bytes: &[u8], error: &FormatError) -> Diagnostic {
    let is_other = matches!(
        error,
        FormatError::UnknownFormat { .. }
            | FormatError::BadCell { row: 1, .. }
            | FormatError::CellCount { .. }
    );
    let found = recognise(bytes).ok().filter(|found| {
        let is_traffic = matches!(
            found.kind,
            FileKind::Trace(_) | FileKind::Lengths(_) | FileKind::Clients(_) | FileKind::Table
        );
        is_other && !is_traffic
    });
    match found {
        None => Diagnostic::of_file(name, error),
        Some(found) => {
            let reported =
                found.instead_of("trace", name, &String::from_utf8_lossy(&unpacked_head(bytes, HEAD_BYTES)));
            Diagnostic { message: format!("{name}: {}", reported.message), path: name.to_owned(), ..reported }
        }
    }
}

/// Decides what a JSON value is; none where it is of no known kind, a scenario included.
pub(crate) fn of_value(json: &Json) -> Option<Recognised> {
    of_outline(&Outline::of_value(json))
}

fn of_json(text: &str) -> Result<Recognised, Unrecognised> {
    let outline = Outline::of_text(&finite(text));
    if outline.keys().next().is_none() && text.starts_with('{') && text.trim_end().ends_with('}') {
        return Ok(Recognised::new(FileKind::Scenario, &["{}"]));
    }
    let known = of_outline(&outline).or_else(|| {
        let keys: Vec<&str> = outline.keys().collect();
        let is_ours = text.starts_with('{') && !keys.is_empty() && is_scenario(&keys);
        is_ours.then(|| Recognised::new(FileKind::Scenario, &keys[..keys.len().min(MOST_TOLD)]))
    });
    known.or_else(|| of_table(text)).ok_or_else(|| match outline.keys().next() {
        Some(_) => Unrecognised::new("json", outline.keys()),
        None => Unrecognised::new("json", text.lines().take(1)),
    })
}

/// Keys of other kinds, of which a file has all.
const SIGNATURES: [(FileKind, &[&str]); 15] = [
    (FileKind::AdapterConfig, &["peft_type"]),
    (FileKind::AdapterConfig, &["lora_alpha", "target_modules"]),
    (FileKind::AdapterConfig, &["lora_alpha", "r"]),
    (FileKind::ModelConfig, &["model_type"]),
    (FileKind::ModelConfig, &["architectures"]),
    (FileKind::ModelConfig, &["num_hidden_layers", "hidden_size"]),
    (FileKind::ModelConfig, &["n_layer", "n_embd"]),
    (FileKind::ModelConfig, &["text_config"]),
    (FileKind::Trace(Format::ServescopeJsonl), &[RECIPE_KEY]),
    (FileKind::Scenario, &["steps", "format", "scenario"]),
    (FileKind::Scenario, &["steps", "format", "files"]),
    (FileKind::Scenario, &["title", "scenario"]),
    (FileKind::Summary, &["digest", "makespan_s"]),
    (FileKind::Curve(CurveForm::Pattern), &["fluctuate", "mean", "period_len_ms"]),
    (FileKind::Curve(CurveForm::Pattern), &["A", "B", "sigma", "only_rise"]),
];

/// Every kind but a plain scenario, by the keys of a value.
fn of_outline(outline: &Outline) -> Option<Recognised> {
    if let Some((tool, keys)) = Tool::of_keys(outline) {
        return Some(Recognised::new(FileKind::Result(tool), &keys));
    }
    if let Some((kind, keys)) = SIGNATURES.iter().find(|(_, keys)| keys.iter().all(|key| outline.has(key))) {
        return Some(Recognised::new(*kind, keys));
    }
    let (format, keys) = Format::of_columns(true, |key| outline.has(key))?;
    Some(Recognised::new(of_format(format), &keys))
}

fn of_format(format: Format) -> FileKind {
    match format {
        Format::ServeGen | Format::ServeGenLengths => FileKind::Clients(format),
        Format::VidurLengths | Format::VllmCustom | Format::Conversations | Format::OpenAiBatch => {
            FileKind::Lengths(format)
        }
        _ => FileKind::Trace(format),
    }
}

fn of_text(text: &str) -> Result<Recognised, Unrecognised> {
    let first = text.lines().next().unwrap_or_default().trim();
    if text.starts_with(RECIPE_MARK) {
        return Ok(Recognised::new(FileKind::Trace(Format::Servescope), &[RECIPE_MARK.trim()]));
    }
    if text.starts_with("servescope-profile ") {
        return Ok(Recognised::new(FileKind::OperatorTable, &["servescope-profile"]));
    }
    if text.lines().nth(1).is_none_or(|second| second.trim().is_empty())
        && (first.starts_with("#v=") || (first.contains("://") && first.contains("#v=")))
    {
        return Ok(Recognised::new(FileKind::Link, &["#v="]));
    }
    if let Some((server, word)) = Server::of_text(text) {
        return Ok(Recognised::new(FileKind::LaunchLine(server), &[word]));
    }
    let cells: Vec<&str> = first.split(',').map(|cell| cell.trim().trim_matches('"')).collect();
    let has = |name: &str| cells.contains(&name);
    if let Some((tool, keys)) = Tool::of_columns(has) {
        return Ok(Recognised::new(FileKind::Result(tool), &keys));
    }
    if let Some((format, keys)) = Format::of_columns(false, has) {
        return Ok(Recognised::new(of_format(format), &keys));
    }
    if let Some(column) = operator_table_column(first) {
        return Ok(Recognised::new(FileKind::OperatorTable, &[column]));
    }
    if cells.len() > 1 && text.lines().nth(1).is_some() {
        if cells[0] == "Time" && (has("Success") || cells.len() == 2 && !has("P50")) {
            let rate = if has("Success") { "Success" } else { cells[1] };
            return Ok(Recognised::new(FileKind::Curve(CurveForm::Rates), &["Time", rate]));
        }
        if let Some(table) = of_table(text) {
            return Ok(table);
        }
        return Err(Unrecognised::new("table", cells.into_iter()));
    }
    Err(Unrecognised::new("text", std::iter::once(first)))
}

#[cfg(test)]
mod tests;
