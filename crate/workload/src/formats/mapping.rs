//! What the columns of a table of no known format mean: `arrival=ts:ms,input=prompt,output=gen`.
//!
//! A column of CSV goes by its name; a key of JSON Lines too, with dots between where objects lie in each other
//! (`usage.prompt_tokens`).

use std::collections::BTreeMap;

use super::json::Lines;
use super::table::{Table, shorten};
use super::time::parse_time;
use super::watch::ReadWatch;
use super::{FormatError, gzip, without_mark};

/// What a column can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnRole {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a few words.
    pub help: &'static str,
    /// Whether no trace can do without.
    pub required: bool,
    /// What its cells may count; the first is meant where nothing is said.
    pub units: &'static [&'static str],
    /// Names, in small letters and digits only, that columns of this kind have.
    known: &'static [&'static str],
}

/// Every role. `date` is a date and time of day; `text` counts a token for every four characters.
pub const ROLES: &[ColumnRole] = &[
    ColumnRole {
        name: "arrival",
        help: "when the request arrived",
        required: true,
        units: &["s", "ms", "us", "ns", "date"],
        known: &[
            "arrival",
            "arrivals",
            "arrivaltime",
            "arrivedat",
            "timestamp",
            "time",
            "ts",
            "date",
            "datetime",
            "starttime",
            "start",
            "requesttime",
            "createdat",
            "created",
            "receivedat",
            "submittime",
            "t",
        ],
    },
    ColumnRole {
        name: "input",
        help: "length of the prompt",
        required: true,
        units: &["tokens", "text"],
        known: &[
            "inputtokens",
            "inputlength",
            "inputlen",
            "prompttokens",
            "promptlength",
            "promptlen",
            "contexttokens",
            "requesttokens",
            "numprefilltokens",
            "prefilltokens",
            "isl",
            "in",
            "input",
            "prompt",
            "usageprompttokens",
            "usageinputtokens",
            "numinputtokens",
            "nprompt",
        ],
    },
    ColumnRole {
        name: "output",
        help: "length of the output",
        required: true,
        units: &["tokens", "text"],
        known: &[
            "outputtokens",
            "outputlength",
            "outputlen",
            "completiontokens",
            "completionlength",
            "generatedtokens",
            "responsetokens",
            "numdecodetokens",
            "decodetokens",
            "gentokens",
            "osl",
            "out",
            "output",
            "completion",
            "response",
            "answer",
            "gen",
            "usagecompletiontokens",
            "usageoutputtokens",
            "numoutputtokens",
            "ngen",
        ],
    },
    ColumnRole {
        name: "user",
        help: "the user who sent the request",
        required: false,
        units: &["name"],
        known: &[
            "user", "userid", "client", "clientid", "tenant", "tenantid", "customer", "hashedip", "ip",
            "apikey",
        ],
    },
    ColumnRole {
        name: "adapter",
        help: "the adapter asked for; empty or -1 is the base model",
        required: false,
        units: &["name"],
        known: &["adapter", "adapterid", "lora", "loraid", "loraadapter"],
    },
    ColumnRole {
        name: "session",
        help: "the conversation",
        required: false,
        units: &["name"],
        known: &["session", "sessionid", "conversation", "conversationid", "chatid", "threadid"],
    },
    ColumnRole {
        name: "max_tokens",
        help: "max_tokens of the request, the bound on its output",
        required: false,
        units: &["tokens"],
        known: &["maxtokens", "maxnewtokens", "maxcompletiontokens", "maxoutputtokens"],
    },
    ColumnRole {
        name: "model",
        help: "the model asked for",
        required: false,
        units: &["name"],
        known: &["model", "modelname", "modelid"],
    },
];

/// Why the text of a mapping was rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// A part is not ROLE=COLUMN.
    #[error("ROLE=COLUMN expected, got {0:?}")]
    NoAssignment(String),
    /// There is no such role.
    #[error("there is no role {role:?}; known are {known}")]
    UnknownRole {
        /// The name.
        role: String,
        /// Every role.
        known: String,
    },
    /// The column of that role has no such unit.
    #[error("{role}: one of {known} expected, got {unit:?}")]
    UnknownUnit {
        /// The role.
        role: &'static str,
        /// The unit.
        unit: String,
        /// Every unit of the role.
        known: String,
    },
    /// A role has two columns.
    #[error("{0} is said twice")]
    Twice(&'static str),
    /// A required role has no column.
    #[error("the column for {0} is missing")]
    Missing(&'static str),
}

/// What columns mean.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mapping {
    /// By the name of the role: the column, and its unit.
    columns: BTreeMap<&'static str, (String, &'static str)>,
}

impl Mapping {
    /// Reads `ROLE=COLUMN` or `ROLE=COLUMN:UNIT`, with commas between; names with a comma cannot be said so.
    ///
    /// # Errors
    /// [`MappingError`].
    pub fn parse(text: &str) -> Result<Self, MappingError> {
        let mut mapping = Self::default();
        for part in text.split(',') {
            let (role, column) =
                part.split_once('=').ok_or_else(|| MappingError::NoAssignment(part.trim().to_owned()))?;
            let role = role_named(role.trim())?;
            if mapping.columns.contains_key(role.name) {
                return Err(MappingError::Twice(role.name));
            }
            // A column's own name may have a colon.
            let (column, unit) = match column.rsplit_once(':') {
                Some((column, unit)) if role.units.contains(&unit.trim()) => (column, unit.trim()),
                _ => (column, role.units[0]),
            };
            mapping.set(role.name, column.trim(), unit)?;
        }
        mapping.require()?;
        Ok(mapping)
    }

    /// The text that [`Self::parse`] reads back.
    pub fn to_text(&self) -> String {
        let known = ROLES.iter().filter_map(|role| Some((role, self.columns.get(role.name)?)));
        let part =
            |(role, (column, unit)): (&ColumnRole, &(String, &str))| format!("{}={column}:{unit}", role.name);
        known.map(part).collect::<Vec<_>>().join(",")
    }

    /// Gives a role a column; an empty name takes it away.
    ///
    /// # Errors
    /// That there is no such role or unit.
    pub fn set(&mut self, role: &str, column: &str, unit: &str) -> Result<(), MappingError> {
        let role = role_named(role)?;
        let unit = role.units.iter().find(|known| **known == unit).ok_or_else(|| {
            MappingError::UnknownUnit { role: role.name, unit: unit.to_owned(), known: role.units.join(", ") }
        })?;
        if column.is_empty() {
            self.columns.remove(role.name);
        } else {
            self.columns.insert(role.name, (column.to_owned(), unit));
        }
        Ok(())
    }

    /// The column of a role and its unit.
    pub fn get(&self, role: &str) -> Option<(&str, &'static str)> {
        self.columns.get(role).map(|(column, unit)| (column.as_str(), *unit))
    }

    /// Rejects a mapping without a required role.
    ///
    /// # Errors
    /// [`MappingError::Missing`].
    pub fn require(&self) -> Result<(), MappingError> {
        let missing = ROLES.iter().find(|role| role.required && self.get(role.name).is_none());
        missing.map_or(Ok(()), |role| Err(MappingError::Missing(role.name)))
    }
}

fn role_named(name: &str) -> Result<&'static ColumnRole, MappingError> {
    ROLES.iter().find(|role| role.name == name).ok_or_else(|| MappingError::UnknownRole {
        role: name.to_owned(),
        known: ROLES.iter().map(|role| role.name).collect::<Vec<_>>().join(", "),
    })
}

/// Rows that samples are taken from.
const SAMPLED_ROWS: usize = 20;
/// Characters of a sample.
const SAMPLE_CHARACTERS: usize = 40;

/// The columns or keys of a file, each with the values of its first rows; rows that cannot be read are passed over.
///
/// # Errors
/// That the file is no text, or is empty.
pub fn columns(bytes: &[u8]) -> Result<Vec<(String, Vec<String>)>, FormatError> {
    let never = &mut |_, _| std::ops::ControlFlow::Continue(());
    let mut watch = ReadWatch::new(Some(0), never);
    let unpacked = gzip::unpacked(bytes)?;
    let text = &*watch.text(without_mark(&unpacked))?;
    let mut columns: Vec<(String, Vec<String>)> = Vec::new();
    if !text.trim_start().starts_with(['{', '[']) {
        let mut table = Table::of(text, watch)?;
        columns.extend(table.columns().map(|(name, _)| (name.to_owned(), Vec::new())));
        let places: Vec<_> = table.columns().map(|(_, column)| column).collect();
        for _ in 0..SAMPLED_ROWS {
            if !table.next_row()? {
                break;
            }
            for (place, (_, samples)) in places.iter().zip(&mut columns) {
                samples.push(shorten(table.text(*place), SAMPLE_CHARACTERS));
            }
        }
        return Ok(columns);
    }
    let mut lines = Lines::of(text, watch);
    for _ in 0..SAMPLED_ROWS {
        let Some(line) = lines.next_line()? else { break };
        line.each_leaf(&mut |key, value| {
            let place = columns.iter().position(|(name, _)| name == key).unwrap_or_else(|| {
                columns.push((key.to_owned(), Vec::new()));
                columns.len() - 1
            });
            columns[place].1.push(shorten(value, SAMPLE_CHARACTERS));
        });
    }
    if columns.is_empty() { Err(FormatError::EmptyFile) } else { Ok(columns) }
}

/// What the columns of [`columns`] seem to be, by their names and values; roles that none fits are left open.
pub fn guess(columns: &[(String, Vec<String>)]) -> Mapping {
    let mut mapping = Mapping::default();
    let plain = |name: &str| -> String {
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
    };
    for role in ROLES {
        let taken = |name: &str| mapping.columns.values().any(|(column, _)| column == name);
        let place_of = |name: &str| {
            let (mut name, mut whole) = (plain(name), name);
            if role.name == "arrival" {
                for unit in ["ms", "us", "ns", "sec", "seconds", "s"] {
                    let stem = whole
                        .strip_suffix(unit)
                        .filter(|stem| stem.ends_with(['_', ' ', '(', '[', '.', '-']));
                    if let Some(stem) = stem {
                        (name, whole) = (plain(stem), stem);
                    }
                }
            }
            role.known.iter().position(|known| *known == name)
        };
        let free = columns.iter().filter(|(name, samples)| !taken(name) && fits(role, samples));
        let best =
            free.filter_map(|(name, samples)| Some((place_of(name)?, name, samples))).min_by_key(|c| c.0);
        if let Some((_, name, samples)) = best {
            let unit = match role.name {
                "arrival" => time_unit(name, samples),
                "input" | "output" if samples.iter().any(|s| !is_number(s)) => "text",
                _ => role.units[0],
            };
            mapping.columns.insert(role.name, (name.clone(), unit));
        }
    }
    mapping
}

fn is_number(sample: &str) -> bool {
    sample.is_empty() || sample.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Whether values can stand in that role at all.
fn fits(role: &ColumnRole, samples: &[String]) -> bool {
    match role.name {
        "arrival" => samples.iter().all(|s| is_number(s) || parse_time(s).is_some()),
        "max_tokens" => samples.iter().all(|s| is_number(s)),
        _ => true,
    }
}

/// The unit of a time: by the end of the column's name, else by the size of its numbers.
fn time_unit(name: &str, samples: &[String]) -> &'static str {
    if samples.iter().any(|s| !is_number(s)) {
        return "date";
    }
    let name = name.to_ascii_lowercase();
    let name = name.trim_end_matches([')', ']']);
    for (unit, ends) in
        [("ms", &["ms", "msec", "millis"][..]), ("us", &["us", "micros"]), ("ns", &["ns", "nanos"])]
    {
        if ends.iter().any(|end| {
            name.strip_suffix(end)
                .is_some_and(|stem| stem.is_empty() || !stem.ends_with(|c: char| c.is_ascii_alphanumeric()))
        }) {
            return unit;
        }
    }
    let values: Vec<f64> = samples.iter().filter_map(|s| s.parse().ok()).collect();
    let most = values.iter().copied().fold(0.0, f64::max);
    // Seconds since 1970 are above 1e9 since 2001.
    match most {
        m if m >= 1e17 => "ns",
        m if m >= 1e14 => "us",
        m if m >= 1e11 => "ms",
        m if m >= 1e9 => "s",
        _ if values.len() > 1 && most >= 1000.0 && values.iter().all(|v| v.trunc() == *v) => "ms",
        _ => "s",
    }
}
