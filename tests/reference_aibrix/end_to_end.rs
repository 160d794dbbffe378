//! `13_end_to_end.json`: whole runs of AIBrix. Its draws are its own; the same rules are held against its lines and
//! against ours for the same arguments.

use serde_json::Value;
use servescope_workload::aibrix::AibrixError;
use servescope_workload::aibrix::arrivals::TargetLengths;
use servescope_workload::aibrix::concat::WorkloadLine;
use servescope_workload::aibrix::curve::{NAMED_MEAN_RPS, NAMED_MEAN_TOKENS, NamedPattern, SinePattern};
use servescope_workload::aibrix::generate::{self, CurveWorkload, MatchedPrompt, PromptSource};
use servescope_workload::aibrix::grouping::{azure_groups, azure_rows};
use servescope_workload::aibrix::inputs::{TraceType, WorkloadInput};
use servescope_workload::aibrix::matching::{
    AZURE_INITIAL_ERROR, ERROR_STEP, INITIAL_ERROR, Match, PromptLengths, find,
};
use servescope_workload::aibrix::sessions::SessionPool;

use crate::Case;

const INTERVAL_MS: f64 = 1000.0;

/// How long a run of ours is where AIBrix's gives no lines.
const DURATION_MS: f64 = 8000.0;

/// What requests are taken from, with the texts by which AIBrix's lines name them.
struct Prompts {
    plain: Vec<PromptLengths>,
    sessions: Vec<Vec<PromptLengths>>,
    texts: Vec<Vec<String>>,
    session_ids: Vec<Value>,
}

impl Prompts {
    fn read(file: &Value) -> Self {
        let list = |key: &str| file[key].as_array().cloned().unwrap_or_default();
        let plain = list("plain_prompt_file_lengths")
            .iter()
            .map(|pair| PromptLengths {
                input_tokens: pair[0].as_u64().unwrap_or(0) as u32,
                output_tokens: pair[1].as_u64().map(|n| n as u32),
            })
            .collect();
        let sessions = list("session_file");
        // One token a character; completions of sessions are counted in characters in any case.
        let length = |text: &Value| text.as_str().map(|text| text.chars().count() as u32);
        let turns = |session: &Value| -> Vec<PromptLengths> {
            let prompts = session["prompts"].as_array().cloned().unwrap_or_default();
            let turn = |(i, prompt): (usize, &Value)| PromptLengths {
                input_tokens: length(prompt).unwrap_or(0),
                output_tokens: length(&session["completions"][i]),
            };
            prompts.iter().enumerate().map(turn).collect()
        };
        let text = |session: &Value| -> Vec<String> {
            session["prompts"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|p| p.as_str().map(str::to_owned))
                .collect()
        };
        Self {
            plain,
            sessions: sessions.iter().map(turns).collect(),
            texts: sessions.iter().map(text).collect(),
            session_ids: sessions.iter().map(|s| s["session_id"].clone()).collect(),
        }
    }

    /// AIBrix's lines as choices of ours, each held to the lengths of what it names.
    fn choices(&self, case: &Case<'_>) -> Vec<WorkloadLine<MatchedPrompt>> {
        let lines = case.json["output"].as_array().unwrap_or_else(|| panic!("{case}: no lines"));
        lines
            .iter()
            .map(|line| WorkloadLine {
                timestamp_ms: line["timestamp"].as_u64().unwrap_or_else(|| panic!("{case}: {line}")) as f64,
                requests: line["requests"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|r| self.choice(case, r))
                    .collect(),
                other: (),
            })
            .collect()
    }

    fn choice(&self, case: &Case<'_>, request: &Value) -> MatchedPrompt {
        let text = request["prompt"].as_str().unwrap_or_else(|| panic!("{case}: {request}"));
        let choice = if request.get("session_id").is_some() {
            let item = self.session_ids.iter().position(|id| *id == request["session_id"]);
            let item = item.unwrap_or_else(|| panic!("{case}: no such session: {request}"));
            let turn = self.texts[item].iter().position(|t| t == text);
            let turn = turn.unwrap_or_else(|| panic!("{case}: no such turn: {request}"));
            MatchedPrompt { item, turn, lengths: self.sessions[item][turn] }
        } else {
            let number = text.strip_prefix('p').and_then(|t| t.split('-').next()?.parse::<usize>().ok());
            let item = number.unwrap_or_else(|| panic!("{case}: no such prompt: {request}"));
            MatchedPrompt { item, turn: 0, lengths: self.plain[item] }
        };
        assert_eq!(request["prompt_length"].as_u64(), Some(choice.lengths.input_tokens.into()), "{case}");
        // A missing completion is null or NaN, and turns the others into numbers with a point.
        let output = request["output_length"].as_f64();
        assert_eq!(output, choice.lengths.output_tokens.map(f64::from), "{case}: {request}");
        choice
    }
}

/// What holds for the lines of a run whose input files are not recorded.
fn schema(case: &Case<'_>) {
    for line in case.json["output"].as_array().into_iter().flatten() {
        assert!(line["timestamp"].is_u64(), "{case}: {line}");
        let requests = line["requests"].as_array().unwrap_or_else(|| panic!("{case}: {line}"));
        assert!(requests.iter().all(|r| r["prompt_length"].is_u64()), "{case}: {line}");
    }
}

/// The arguments of a run.
struct Run<'a> {
    case: &'a Case<'a>,
    trace_type: TraceType,
    prompts: &'a Prompts,
    azure: &'a [u8],
}

impl Run<'_> {
    fn argument(&self, key: &str) -> &Value {
        &self.case.json["arguments"][key]
    }

    fn pattern(&self, key: &str, mean: f64) -> Option<SinePattern> {
        Some(NamedPattern::from_name(self.argument(key).as_str()?).ok()?.pattern(mean))
    }

    /// Whether all that the run was made from is in the file.
    fn is_repeatable(&self) -> bool {
        match self.trace_type {
            TraceType::Constant | TraceType::Azure => true,
            TraceType::Synthetic => {
                ["traffic_pattern_config", "prompt_len_pattern_config", "completion_len_pattern_config"]
                    .iter()
                    .all(|key| self.argument(key).is_null())
            }
            TraceType::Stat | TraceType::Mooncake | TraceType::Agent => false,
        }
    }

    fn sessioned(&self) -> bool {
        self.argument("prompt_file").as_str().is_some_and(|name| name.contains("sess"))
    }

    fn most_sessions(&self) -> usize {
        self.argument("max_concurrent_sessions").as_u64().unwrap_or(1) as usize
    }

    fn inputs(&self) -> Vec<WorkloadInput> {
        let mut inputs = vec![WorkloadInput::Prompts];
        let keys = [
            ("traffic_pattern", WorkloadInput::TrafficPattern),
            ("traffic_pattern_config", WorkloadInput::TrafficPattern),
            ("traffic_file", WorkloadInput::TrafficFile),
            ("agent_config", WorkloadInput::AgentConfig),
        ];
        inputs.extend(keys.iter().filter(|(key, _)| !self.argument(key).is_null()).map(|(_, input)| *input));
        inputs
    }

    /// Our own run of `duration_ms`.
    fn ours(&self, duration_ms: f64) -> Result<Vec<WorkloadLine<MatchedPrompt>>, AibrixError> {
        let target = TargetLengths {
            input_tokens: self.argument("target_prompt_len").as_f64(),
            output_tokens: self.argument("target_completion_len").as_f64(),
        };
        let (lines, error) = match self.trace_type {
            TraceType::Azure => {
                let groups = azure_groups(&azure_rows(self.azure)?, duration_ms, INTERVAL_MS)?;
                (generate::azure_entries(&groups), AZURE_INITIAL_ERROR)
            }
            TraceType::Synthetic => {
                let spec = CurveWorkload {
                    rate: self.pattern("traffic_pattern", NAMED_MEAN_RPS).expect("it was asked for"),
                    input: self.pattern("prompt_len_pattern", NAMED_MEAN_TOKENS),
                    output: self.pattern("completion_len_pattern", NAMED_MEAN_TOKENS),
                    duration_ms,
                    interval_ms: INTERVAL_MS,
                };
                (generate::entries(&spec.arrivals(12)?), INITIAL_ERROR)
            }
            _ => {
                let rate_rps = self.argument("target_qps").as_f64().unwrap_or(1.0);
                let made = generate::constant(rate_rps, target, duration_ms, INTERVAL_MS, 12)?;
                (generate::entries(&made), INITIAL_ERROR)
            }
        };
        let collection = if self.sessioned() {
            PromptSource::Sessions(&self.prompts.sessions)
        } else {
            PromptSource::Plain(&self.prompts.plain)
        };
        Ok(generate::choose(&lines, collection, self.most_sessions(), error, 12))
    }

    /// What AIBrix crashes of.
    fn defect(&self) -> Option<&'static str> {
        let is_given = |key: &str| !self.argument(key).is_null();
        let rises = |key: &str| self.pattern(key, NAMED_MEAN_TOKENS).is_some_and(|curve| curve.only_rise);
        let input = is_given("prompt_len_pattern") || is_given("target_prompt_len");
        let output = is_given("completion_len_pattern") || is_given("target_completion_len");
        if is_given("target_completion_len") {
            Some("a completion length")
        } else if rises("prompt_len_pattern") || rises("completion_len_pattern") {
            Some("lengths that only rise")
        } else if self.sessioned() && (input || output) {
            Some("the nearest of sessions")
        } else {
            (input != output && self.targets().any(|target| self.is_nearest(target)))
                .then_some("a length not asked for in the nearest")
        }
    }

    /// What holds for the lines of any such run.
    fn check(&self, whose: &str, lines: &[WorkloadLine<MatchedPrompt>]) {
        let case = self.case;
        let sorted = lines.is_sorted_by(|a, b| a.timestamp_ms <= b.timestamp_ms);
        assert!(sorted, "{case}, {whose}: times go back");
        if self.trace_type == TraceType::Azure {
            return self.check_azure(whose, lines);
        }
        assert!(lines.iter().all(|line| line.requests.len() <= 1), "{case}, {whose}: two requests at once");
        let chosen: Vec<MatchedPrompt> =
            lines.iter().filter_map(|line| line.requests.first().copied()).collect();
        if self.sessioned() {
            let turns = self.prompts.sessions.iter().map(Vec::len).collect();
            let mut pool = SessionPool::new(turns, self.most_sessions());
            for choice in &chosen {
                let place = pool.open().iter().position(|&next| next == (choice.item, choice.turn));
                let place = place.unwrap_or_else(|| panic!("{case}, {whose}: {choice:?} is not next"));
                pool.take(place);
            }
            let left = lines.len() - chosen.len();
            assert!(left == 0 || pool.open().is_empty(), "{case}, {whose}: idle before the sessions end");
        } else if self.wants_lengths() {
            let allowed = self.allowed();
            let odd = chosen.iter().find(|choice| !allowed.contains(&choice.item));
            assert!(odd.is_none(), "{case}, {whose}: {odd:?} is in no band");
        } else {
            for round in chosen.chunks(self.prompts.plain.len()) {
                let mut items: Vec<usize> = round.iter().map(|choice| choice.item).collect();
                items.sort_unstable();
                assert!(items.is_sorted_by(|a, b| a < b), "{case}, {whose}: a prompt comes twice");
            }
        }
    }

    fn wants_lengths(&self) -> bool {
        ["prompt_len_pattern", "completion_len_pattern", "target_prompt_len", "target_completion_len"]
            .iter()
            .any(|key| !self.argument(key).is_null())
    }

    /// Any pair of lengths on the curves.
    fn targets(&self) -> impl Iterator<Item = TargetLengths> {
        const SAMPLES: usize = 97;
        let lengths = |pattern: &str, target: &str| -> Vec<Option<f64>> {
            match self.pattern(pattern, NAMED_MEAN_TOKENS) {
                Some(curve) => (0..SAMPLES).map(|k| Some(curve.trend(k, SAMPLES).round())).collect(),
                None => vec![self.argument(target).as_f64()],
            }
        };
        let outputs = lengths("completion_len_pattern", "target_completion_len");
        lengths("prompt_len_pattern", "target_prompt_len").into_iter().flat_map(move |input_tokens| {
            let pair = move |output_tokens| TargetLengths { input_tokens, output_tokens };
            outputs.clone().into_iter().map(pair)
        })
    }

    fn find(&self, target: TargetLengths) -> Option<Match> {
        find(&self.prompts.plain, target, INITIAL_ERROR, ERROR_STEP)
    }

    fn is_nearest(&self, target: TargetLengths) -> bool {
        matches!(self.find(target), Some(Match::Nearest(_)))
    }

    /// Prompts that any pair of lengths on the curves may lead to.
    fn allowed(&self) -> Vec<usize> {
        let found = self.targets().filter_map(|target| self.find(target));
        found
            .flat_map(|found| match found {
                Match::Band { prompts, .. } => prompts,
                Match::Nearest(prompt) => vec![prompt],
            })
            .collect()
    }

    fn check_azure(&self, whose: &str, lines: &[WorkloadLine<MatchedPrompt>]) {
        let case = self.case;
        let rows = azure_rows(self.azure).unwrap_or_else(|e| panic!("{case}: {e}"));
        let groups = azure_groups(&rows, f64::MAX, INTERVAL_MS).unwrap_or_else(|e| panic!("{case}: {e}"));
        assert!(lines.len() <= groups.len(), "{case}, {whose}: too many lines");
        for (line, group) in lines.iter().zip(&generate::azure_entries(&groups)) {
            assert_eq!(line.timestamp_ms, group.timestamp_ms, "{case}, {whose}");
            assert_eq!(line.requests.len(), group.requests.len(), "{case}, {whose}");
            for (choice, &target) in line.requests.iter().zip(&group.requests) {
                let fine = match find(&self.prompts.plain, target, AZURE_INITIAL_ERROR, ERROR_STEP) {
                    Some(Match::Band { prompts, .. }) => prompts.contains(&choice.item),
                    Some(Match::Nearest(prompt)) => prompt == choice.item,
                    None => false,
                };
                assert!(fine, "{case}, {whose}: {choice:?} for {target:?}");
            }
        }
    }
}

fn check(case: &Case<'_>, file: &Value) {
    let name = case.json["arguments"]["trace_type"].as_str().unwrap_or("");
    let trace_type =
        TraceType::from_name(name).unwrap_or_else(|| panic!("{case}: {name:?} is no trace type"));
    let prompts = Prompts::read(file);
    let azure = file["azure_rows"].as_str().unwrap_or("").as_bytes();
    let run = Run { case, trace_type, prompts: &prompts, azure };
    let allowed = trace_type.check(&run.inputs());
    if case.is_error() {
        if allowed.is_err() {
            return;
        }
        let defect = run.defect().unwrap_or_else(|| panic!("{case}: not refused"));
        if run.is_repeatable() {
            let ours = run.ours(DURATION_MS).unwrap_or_else(|error| panic!("{case}: {error}"));
            run.check("ours", &ours);
        }
        return case.defect(&format!("{defect}, where AIBrix crashes: done right"));
    }
    assert_eq!(allowed, Ok(()), "{case}");
    if !run.is_repeatable() {
        return schema(case);
    }
    let theirs = prompts.choices(case);
    run.check("theirs", &theirs);
    // The duration is not recorded; it is the whole second that the last line reaches, or passes by one gap.
    let last_ms = theirs.last().map_or(0.0, |line| line.timestamp_ms);
    let duration_ms = (last_ms / 1000.0).round() * 1000.0;
    let ours = run.ours(duration_ms).unwrap_or_else(|error| panic!("{case}: {error}"));
    run.check("ours", &ours);
    let (a, b) = (ours.len() as f64, theirs.len() as f64);
    assert!((a - b).abs() <= 5.0 * (a + b + 1.0).sqrt(), "{case}: {a} lines, expected about {b}");
}

#[test]
fn end_to_end() {
    crate::check_all("end_to_end", check);
}
