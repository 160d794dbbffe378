//! Notes about settings without effect, from one place.
//!
//! A parameter acts where the conditions of its row in the parameter table hold ([`Condition`]). Beside them stand facts that
//! no parameter says: what a run is for ([`Purpose`]), whether its requests come from a trace and what that carries
//! ([`Traffic`]), and what the run that was made shows ([`unused`]). Every note of the terminal, of `summary.json` and of the
//! page comes from here.
//!
//! ```
//! use servescope_settings::notes::{NoteContext, notes};
//! use servescope_settings::scenario::Scenario;
//! let mut scenario = Scenario::default();
//! scenario.set_text("scheduler.chunk_tokens", "256").unwrap();
//! let notes = notes(&scenario, &NoteContext::default());
//! assert_eq!(notes[0].text(), "scheduler.chunk_tokens has no effect here: it acts where scheduler.kind is sarathi");
//! ```

mod conditions;
mod remedy;
mod traffic;
mod unused;

use crate::diagnostic::Diagnostic;
use crate::parameters::{Condition, Id};
use crate::scenario::Scenario;
use conditions::ScenarioSettings;
pub use conditions::{subject, words};
pub use remedy::remedy;
pub use traffic::Traffic;
use traffic::is_decided;
pub use unused::unused;

/// What a scenario is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    /// One simulated run.
    #[default]
    Run,
    /// A capacity search.
    Capacity,
    /// A trace file of the workload.
    Trace,
    /// Request bodies, of the workload or of a trace.
    Bodies,
    /// The page, which makes all of these.
    Page,
}

/// What a scenario does not say itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NoteContext {
    /// What it is read for.
    pub purpose: Purpose,
    /// The trace in place of requests made by the workload's settings.
    pub traffic: Option<Traffic>,
    /// Whether that trace was made by the workload's settings first, and changed by steps then.
    pub is_generated: bool,
}

/// Why a setting has no effect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reason {
    /// It acts where this holds.
    Condition(&'static Condition),
    /// The trace decides it.
    File,
    /// It acts on a trace only.
    NeedsFile,
    /// It acts on the capacity search only.
    Capacity,
    /// It acts on request bodies only.
    Bodies,
    /// It acts on the simulated service only.
    Service,
    /// Nothing in this run depends on it: no random number of its is drawn.
    NoDraw,
    /// No two requests waited at the engine for the same decision.
    NoChoice,
    /// No request was preempted.
    NoPreemption,
    /// The run was made again without it, and is the same.
    SameRun,
    /// The run was made again without it: every request fares the same, and other numbers of the summary differ.
    SameRequests,
    /// It changes the tables by user and by adapter, and nothing else of the run; more where this holds.
    Tables(Condition),
}

/// A setting without effect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Note {
    /// The parameter.
    pub id: Id,
    /// Why it has none.
    pub reason: Reason,
}

impl Reason {
    /// The name of a reason that is no condition of the table; "condition" of one that is.
    pub fn name(self) -> &'static str {
        match self {
            Self::Condition(_) => "condition",
            Self::File => "file",
            Self::NeedsFile => "needs_file",
            Self::Capacity => "capacity",
            Self::Bodies => "bodies",
            Self::Service => "service",
            Self::NoDraw => "no_draw",
            Self::NoChoice => "no_choice",
            Self::NoPreemption => "no_preemption",
            Self::SameRun => "same_run",
            Self::SameRequests => "same_requests",
            Self::Tables(_) => "tables",
        }
    }

    /// What a setting with this reason lacks.
    fn lacks(self) -> &'static str {
        match self {
            Self::Tables(_) => "effect on the run",
            Self::SameRequests => "effect on requests",
            _ => "effect",
        }
    }

    /// The reason in words, as the end of a sentence.
    pub fn text(self) -> String {
        match self {
            Self::Condition(condition) => format!("it acts where {}", words(condition)),
            Self::File => "the trace decides it".to_owned(),
            Self::NeedsFile => "it acts on a loaded trace only".to_owned(),
            Self::Capacity => "it acts on the capacity search only".to_owned(),
            Self::Bodies => "it acts on request bodies only, not on simulated requests".to_owned(),
            Self::Service => "it acts on the simulated service only".to_owned(),
            Self::NoDraw => "no random number is drawn for a trace with these settings".to_owned(),
            Self::NoChoice => "no two requests waited at the engine for the same place in a batch".to_owned(),
            Self::NoPreemption => "no request of this run was preempted".to_owned(),
            Self::SameRun => "this run is the same without it".to_owned(),
            Self::SameRequests => {
                "every request of this run fares the same without it; only other numbers of the summary change".to_owned()
            }
            Self::Tables(condition) => {
                format!(
                    "it changes the tables by user and by adapter only; runs depend on it where {}",
                    words(&condition)
                )
            }
        }
    }
}

impl Note {
    /// The note as a sentence.
    pub fn text(&self) -> String {
        format!("{} has no {} here: {}", name(self.id), self.reason.lacks(), self.reason.text())
    }

    /// The note as an entry of `warnings`.
    pub fn diagnostic(&self) -> Diagnostic {
        let code = match self.reason {
            Reason::Condition(_) => "no_effect",
            Reason::File => "no_effect_file",
            Reason::NeedsFile => "no_effect_needs_file",
            Reason::Capacity => "no_effect_capacity",
            Reason::Bodies => "no_effect_bodies",
            Reason::Service => "no_effect_service",
            Reason::NoDraw => "no_effect_no_draw",
            Reason::NoChoice => "no_effect_no_choice",
            Reason::NoPreemption => "no_effect_no_preemption",
            Reason::SameRun => "no_effect_same_run",
            Reason::SameRequests => "no_effect_same_requests",
            Reason::Tables(_) => "no_effect_tables",
        };
        let diagnostic = Diagnostic::note(code, self.id.row().id, self.text());
        match self.reason {
            Reason::Condition(condition) => diagnostic.text("condition", &words(condition)),
            Reason::Tables(condition) => diagnostic.text("condition", &words(&condition)),
            _ => diagnostic,
        }
    }
}

/// Conditions of which one must hold for a seed to matter where requests come from a trace.
const DRAWS: Condition = Condition::Any(&[
    Condition::NotIn(Id::RateScale, &["1"]),
    Condition::In(
        Id::Router,
        &[
            "random",
            "power_of_two",
            "llmd",
            "llmd_weighted",
            "dynamo_kv",
            "aibrix_vtc",
            "ps_prefixaware",
            "lmetric",
            "lpwl",
        ],
    ),
    Condition::Above(Id::RouterScrape, 0.0),
    Condition::Above(Id::PredictionRange, 0.0),
    Condition::In(Id::PredictKind, &["noisy"]),
    Condition::Above(Id::RetryJitter, 0.0),
    Condition::Above(Id::ErrorNoise, 0.0),
]);

/// What is asked of the lengths of outputs: the only sampling that a simulated request feels. Beside them, where a run does not
/// depend on one, bodies still do.
const ACT_ON_RUNS: [Id; 4] = [Id::IgnoreEos, Id::MinTokens, Id::MaxNewTokens, Id::PinOutput];

/// Every setting that was given a value and has no effect, in the order of the table. A value that is the default counts:
/// it was written down for a reason.
pub fn notes(scenario: &Scenario, context: &NoteContext) -> Vec<Note> {
    let reason = |id| idle(scenario, context, id).or_else(|| only_tables(scenario, context, id));
    scenario.given().filter_map(|id| Some(Note { id, reason: reason(id)? })).collect()
}

/// Where a parameter that acts changes the tables by user and by adapter and nothing else, that as a reason.
pub fn only_tables(scenario: &Scenario, context: &NoteContext, id: Id) -> Option<Reason> {
    let settings = ScenarioSettings { scenario, traffic: context.traffic.as_ref() };
    let is_run = matches!(context.purpose, Purpose::Run | Purpose::Capacity);
    let condition = id.row().beyond_tables.filter(|condition| is_run && !settings.holds(condition))?;
    idle(scenario, context, id).is_none().then_some(Reason::Tables(condition))
}

/// The notes that hold for each of several scenarios.
pub fn common<'s>(scenarios: impl Iterator<Item = &'s Scenario>, context: &NoteContext) -> Vec<Note> {
    let kept = scenarios.map(|scenario| notes(scenario, context)).reduce(|mut kept, other| {
        kept.retain(|note| other.contains(note));
        kept
    });
    kept.unwrap_or_default()
}

/// The notes as text, a line for each reason: `without effect: PATH, PATH (reason)`.
pub fn lines(notes: &[Note]) -> Vec<String> {
    let mut reasons: Vec<(Reason, Vec<String>)> = Vec::new();
    for note in notes {
        let name = name(note.id);
        match reasons.iter_mut().find(|(other, _)| other.text() == note.reason.text()) {
            Some((_, names)) => names.push(name),
            None => reasons.push((note.reason, vec![name])),
        }
    }
    let line = |(reason, names): (Reason, Vec<String>)| {
        format!("without {}: {} ({})", reason.lacks(), names.join(", "), reason.text())
    };
    reasons.into_iter().map(line).collect()
}

/// A parameter under every name that it can be given by.
fn name(id: Id) -> String {
    let row = id.row();
    if row.aliases.is_empty() {
        row.id.to_owned()
    } else {
        format!("{} ({})", row.id, row.aliases.join(", "))
    }
}

/// Why a parameter has no effect, whatever its value; `None` where it acts.
pub fn idle(scenario: &Scenario, context: &NoteContext, id: Id) -> Option<Reason> {
    if let Some(reason) = beside(context, id) {
        return Some(reason);
    }
    let settings = ScenarioSettings { scenario, traffic: context.traffic.as_ref() };
    if id == Id::Seed && context.traffic.is_some() && !context.is_generated && !settings.holds(&DRAWS) {
        return Some(Reason::NoDraw);
    }
    if settings.acts(id) {
        return None;
    }
    if id.row().group == "sampling" {
        match context.purpose {
            Purpose::Bodies => return None,
            Purpose::Page => return Some(Reason::Bodies),
            Purpose::Run | Purpose::Capacity | Purpose::Trace => {}
        }
    }
    settings.unmet(id).first().map(|&condition| Reason::Condition(settings.cause(condition)))
}

/// Places among the row's conditions of those that do not hold.
pub fn unmet_places(scenario: &Scenario, context: &NoteContext, id: Id) -> Vec<usize> {
    let unmet = ScenarioSettings { scenario, traffic: context.traffic.as_ref() }.unmet(id);
    let is_unmet = |condition: &Condition| unmet.iter().any(|other| std::ptr::eq(*other, condition));
    (0..id.row().applies.len()).filter(|&place| is_unmet(&id.row().applies[place])).collect()
}

/// What no condition of the table covers: what the scenario is read for, and where its requests come from.
fn beside(context: &NoteContext, id: Id) -> Option<Reason> {
    use Purpose::{Bodies, Capacity, Page, Run, Trace};
    let (group, purpose) = (id.row().group, context.purpose);
    match group {
        "capacity" if !matches!(purpose, Capacity | Page) => return Some(Reason::Capacity),
        "sampling" if purpose != Bodies && !ACT_ON_RUNS.contains(&id) => return Some(Reason::Bodies),
        "sampling" => return None,
        "trace" if context.traffic.is_none() => return Some(Reason::NeedsFile),
        _ => {}
    }
    if is_decided(id) && context.traffic.is_some() && !context.is_generated {
        return Some(Reason::File);
    }
    let is_of_service = !id.row().id.starts_with("workload.") && id != Id::Seed;
    match purpose {
        Trace | Bodies if is_of_service => Some(Reason::Service),
        Run | Capacity | Trace | Bodies | Page => None,
    }
}

impl Scenario {
    /// Whether a parameter has an effect beside the other settings, where requests are made by the workload's settings.
    pub fn is_active(&self, id: Id) -> bool {
        ScenarioSettings { scenario: self, traffic: None }.acts(id)
    }
}
