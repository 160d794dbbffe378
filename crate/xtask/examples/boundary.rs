//! Prints `crate/boundary/src/boundary.d.ts`: the TypeScript types of what crosses to the page, from the structs that serde
//! reads and writes there, with their documentation.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use servescope_evidence as evidence;
use servescope_lab as lab;
use servescope_output as output;
use servescope_settings as settings;
use ts_rs::{Config, TS, TypeVisitor};

fn main() {
    print!("{}", declarations());
}

const HEAD: &str = "\
// Written by `cargo xtask generate` from the structs that cross the boundary; a change here is lost.
// Times are in the unit of their name, counts are numbers; `null` is a value that does not exist.
";

/// The declarations of all types that cross, by name: the order in which a type visits its parts may change with each build.
fn declarations() -> String {
    let mut all = Declarations {
        config: Config::new().with_large_int("number"),
        known: Vec::new(),
        texts: BTreeMap::new(),
    };
    all.visit::<lab::capacity::CapacityEntry>();
    all.visit::<lab::run::Load>();
    all.visit::<lab::blame::Cause>();
    all.visit::<lab::metric::Measured>();
    all.visit::<settings::notes::Traffic>();
    all.visit::<evidence::overlay::MeasuredRun>();
    all.visit::<settings::parameters::Value>();
    all.visit::<lab::replications::SeedRange>();
    all.visit::<output::replies::CapacityGrid>();
    all.visit::<output::replies::CapacityReply>();
    all.visit::<output::replies::CheckedReply>();
    all.visit::<output::replies::ComparedPair>();
    all.visit::<output::replies::DebuggerStep>();
    all.visit::<output::replies::CallErrors>();
    all.visit::<output::replies::FiguresReply>();
    all.visit::<output::replies::FitReply>();
    all.visit::<output::replies::FittedProfile>();
    all.visit::<output::replies::LengthsFile>();
    all.visit::<output::replies::MonitorRequest>();
    all.visit::<output::replies::MonitorView>();
    all.visit::<output::replies::OverlayReply>();
    all.visit::<output::replies::OwnModel>();
    all.visit::<output::replies::RecognisedFile>();
    all.visit::<output::replies::ParsedLink>();
    all.visit::<output::replies::Peeked>();
    all.visit::<output::replies::ProfileFiles>();
    all.visit::<output::replies::RequestFacts>();
    all.visit::<output::replies::RunOptions>();
    all.visit::<output::replies::RunReply>();
    all.visit::<output::replies::SeedRun>();
    all.visit::<output::replies::Shaped>();
    all.visit::<output::replies::SourceInfo>();
    all.visit::<output::replies::StandingsReply>();
    all.visit::<output::replies::StepKinds>();
    all.visit::<output::replies::SweepPlan>();
    all.visit::<output::replies::SweepResults>();
    all.visit::<output::replies::SweepSpec>();
    all.visit::<output::replies::TrafficCharts>();
    all.visit::<output::replies::CrossoverKnown>();
    all.visit::<output::replies::CrossoverSpec>();
    all.visit::<output::replies::CrossoverStep>();
    all.visit::<settings::schema::PageSchema>();
    all.visit::<settings::schema::Resolution>();
    all.visit::<evidence::silicon::Errors>();
    all.visit::<output::views::bands::SeedSpans>();
    all.visit::<output::views::deployment::DeploymentView>();
    all.visit::<output::views::moment::Moment>();
    all.visit::<output::why::Delayed>();
    all.visit::<output::why::RequestWhy>();
    all.visit::<output::why::Why>();
    all.visit::<servescope_charts::PlotFrame>();
    HEAD.to_owned() + &laid_out(&all.texts.into_values().collect::<String>())
}

/// The text with a comment of one line on one line, and what is within braces indented.
fn laid_out(text: &str) -> String {
    let text = text.replace(", };", ",\n};").replace("{ \n", "{\n");
    let (mut laid, mut depth) = (String::new(), 0_usize);
    let mut comment: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim_end) {
        let indent = "  ".repeat(depth.saturating_sub(line.starts_with('}').into()));
        if !comment.is_empty() || line.starts_with("/**") {
            comment.push(line);
            match comment[..] {
                [_, only, " */"] => {
                    let _ = writeln!(laid, "{indent}/** {} */", only.trim_start_matches(" * "));
                }
                [.., " */"] => {
                    comment.iter().for_each(|line| laid.extend([&indent, *line, "\n"]));
                }
                _ => continue,
            }
            comment.clear();
            continue;
        }
        let _ = writeln!(laid, "{}", format!("{indent}{line}").trim_end());
        depth = (depth + line.matches('{').count()).saturating_sub(line.matches('}').count());
    }
    laid
}

struct Declarations {
    config: Config,
    known: Vec<TypeId>,
    /// By name.
    texts: BTreeMap<String, String>,
}

impl TypeVisitor for Declarations {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        if T::output_path().is_none() || self.known.contains(&TypeId::of::<T>()) {
            return;
        }
        self.known.push(TypeId::of::<T>());
        T::visit_dependencies(self);
        let docs = T::docs().unwrap_or_default();
        let text = format!(
            "
{docs}export {}
",
            T::decl(&self.config)
        );
        assert!(
            self.texts.insert(T::ident(&self.config), text).is_none(),
            "two types {}",
            T::name(&self.config)
        );
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_declarations_are_those_of_the_structs() {
        let present = include_str!("../../boundary/src/boundary.d.ts");
        assert!(
            present == super::declarations(),
            "`cargo xtask generate` writes crate/boundary/src/boundary.d.ts"
        );
    }
}
