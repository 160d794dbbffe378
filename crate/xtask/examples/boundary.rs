//! Prints `crate/boundary/src/boundary.d.ts`: the TypeScript types of what crosses to the page, from the structs that serde
//! reads and writes there, with their documentation.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use servescope_lab as lab;
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
    all.visit::<lab::Load>();
    all.visit::<lab::blame::Cause>();
    all.visit::<lab::metric::Measured>();
    all.visit::<lab::notes::Traffic>();
    all.visit::<lab::overlay::MeasuredRun>();
    all.visit::<lab::parameters::Value>();
    all.visit::<lab::replications::SeedRange>();
    all.visit::<lab::replies::CapacityGrid>();
    all.visit::<lab::replies::CapacityReply>();
    all.visit::<lab::replies::CheckedReply>();
    all.visit::<lab::replies::ComparedPair>();
    all.visit::<lab::replies::DebuggerStep>();
    all.visit::<lab::replies::CallErrors>();
    all.visit::<lab::replies::FiguresReply>();
    all.visit::<lab::replies::FitReply>();
    all.visit::<lab::replies::FittedProfile>();
    all.visit::<lab::replies::LengthsFile>();
    all.visit::<lab::replies::MonitorRequest>();
    all.visit::<lab::replies::MonitorView>();
    all.visit::<lab::replies::OverlayReply>();
    all.visit::<lab::replies::OwnModel>();
    all.visit::<lab::replies::RecognisedFile>();
    all.visit::<lab::replies::ParsedLink>();
    all.visit::<lab::replies::Peeked>();
    all.visit::<lab::replies::ProfileFiles>();
    all.visit::<lab::replies::RequestFacts>();
    all.visit::<lab::replies::RunOptions>();
    all.visit::<lab::replies::RunReply>();
    all.visit::<lab::replies::SeedRun>();
    all.visit::<lab::replies::Shaped>();
    all.visit::<lab::replies::SourceInfo>();
    all.visit::<lab::replies::StandingsReply>();
    all.visit::<lab::replies::StepKinds>();
    all.visit::<lab::replies::SweepPlan>();
    all.visit::<lab::replies::SweepResults>();
    all.visit::<lab::replies::SweepSpec>();
    all.visit::<lab::replies::TrafficCharts>();
    all.visit::<lab::replies::TurnKnown>();
    all.visit::<lab::replies::TurnSpec>();
    all.visit::<lab::replies::TurnStep>();
    all.visit::<lab::schema::PageSchema>();
    all.visit::<lab::schema::Resolution>();
    all.visit::<lab::silicon::Errors>();
    all.visit::<lab::views::bands::SeedSpans>();
    all.visit::<lab::views::deployment::DeploymentView>();
    all.visit::<lab::views::moment::Moment>();
    all.visit::<lab::why::Delayed>();
    all.visit::<lab::why::RequestWhy>();
    all.visit::<lab::why::Why>();
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
