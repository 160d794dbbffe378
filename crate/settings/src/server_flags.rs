//! Settings as flags of a server's command line: what flags stand for is remembered, and what none does is said.

use std::fmt::Write as _;

use crate::parameters::{Id, Value};
use crate::scenario::Scenario;

/// The flags of a command while they are gathered.
pub(crate) struct ServerFlags<'s> {
    pub(crate) scenario: &'s Scenario,
    /// The server, as comments name it.
    server: &'static str,
    /// Flags, a line each.
    pub(crate) lines: Vec<String>,
    /// Comments on what no flag stands for.
    pub(crate) left_out: Vec<String>,
    /// Settings that flags or comments stand for.
    pub(crate) covered: Vec<Id>,
}

impl<'s> ServerFlags<'s> {
    /// None yet; the command stands for `covered` by itself.
    pub(crate) fn new(scenario: &'s Scenario, server: &'static str, covered: &[Id]) -> Self {
        Self { scenario, server, lines: Vec::new(), left_out: Vec::new(), covered: covered.to_vec() }
    }

    /// Whether GPU and model count.
    pub(crate) fn has_hardware(&self) -> bool {
        self.scenario.is_active(Id::FleetGpu)
    }

    pub(crate) fn is_on(&self, id: Id) -> bool {
        self.scenario.get(id) == Value::Flag(true)
    }

    pub(crate) fn number(&mut self, flag: &str, id: Id) {
        self.covered.push(id);
        self.lines.push(format!("--{flag} {}", self.scenario.number(id)));
    }

    /// A flag that is the server's default where the setting is `usual`.
    pub(crate) fn unusual(&mut self, flag: &str, id: Id, usual: f64) {
        self.covered.push(id);
        if self.scenario.is_active(id) && self.scenario.number(id) != usual {
            self.number(flag, id);
        }
    }

    /// A flag that is switched off by `--no-`.
    pub(crate) fn switch(&mut self, flag: &str, id: Id) {
        self.covered.push(id);
        self.lines.push(format!("--{}{flag}", if self.is_on(id) { "" } else { "no-" }));
    }

    /// What stands for no flag, where it acts and is not the value that needs none.
    pub(crate) fn leave_out(&mut self, id: Id, needs_none: &Value, why: &str) {
        self.covered.push(id);
        let value = self.scenario.get(id);
        if self.scenario.is_active(id) && value != *needs_none {
            self.left_out.push(format!("{}={}: {why}", id.row().id, value.to_text()));
        }
    }

    /// Says of every other setting of the service that was given another value than its default and acts that no flag stands
    /// for it.
    pub(crate) fn all_others(&mut self) {
        let scenario = self.scenario;
        let is_of_service = |id: &Id| {
            ["fleet.", "scheduler.", "adapters."].iter().any(|group| id.row().id.starts_with(group))
        };
        for id in
            scenario.given().filter(is_of_service).filter(|id| !self.covered.contains(id)).collect::<Vec<_>>()
        {
            self.leave_out(id, &scenario.default_of(id), &format!("no flag of {}", self.server));
        }
    }

    /// The command, a flag a line, behind a line that says which model is meant, and comments with what it leaves out.
    pub(crate) fn command(&self, start: &str) -> String {
        let is_named = self.has_hardware() && !self.scenario.has_own_model();
        let model = if is_named { self.scenario.model_name() } else { "your model".into() };
        let mut text = format!("# MODEL is a folder or a name on Hugging Face: {model}\n{start}");
        for line in &self.lines {
            let _ = write!(text, " \\\n  {line}");
        }
        text.push('\n');
        for line in &self.left_out {
            let _ = writeln!(text, "# {line}");
        }
        text
    }
}
