//! The first moment at which two runs decided differently, in words.

use servescope_engine::ReplicaIndex;
use servescope_workload::RequestId;

use serde::Serialize;
use servescope_engine::decisions::{Compared, Decision, Test, Verdict};
use servescope_engine::first_difference::{FirstDifference, first_difference};

use crate::run::Run;

/// Where A and B part; both runs kept their decisions ([`SimulationHandle::with_decisions`](crate::run::SimulationHandle::with_decisions)).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecisionDifference(Option<FirstDifference>);

impl DecisionDifference {
    /// Of two runs with the same seed.
    pub fn of(a: &Run, b: &Run) -> Self {
        Self(first_difference(&a.report, &b.report))
    }

    /// One plain sentence.
    pub fn sentence(&self) -> String {
        let Some(difference) = self.0 else {
            return "every decision is the same in A and B".to_owned();
        };
        let [a, b] = [difference.a, difference.b].map(|decision| match decision {
            Some(decision) => format!("{} at {} s", described(&decision), seconds(decision.time_us)),
            None => "decides nothing more".to_owned(),
        });
        format!("first different decision: A {a}; B {b}")
    }

    /// Both decisions; none where there is no difference.
    pub fn differing(&self) -> Option<DifferingDecisions> {
        let difference = self.0?;
        let of = |decision: Option<Decision>| decision.map(|decision| ShownDecision::of(&decision));
        Some(DifferingDecisions {
            time_s: difference.time_us() / 1e6,
            request: [difference.a, difference.b]
                .iter()
                .flatten()
                .find_map(Decision::request)
                .map(RequestId::get),
            a: of(difference.a),
            b: of(difference.b),
        })
    }
}

/// Where two runs first decided differently; null where a run decides nothing more.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct DifferingDecisions {
    /// The earlier of both, seconds.
    pub time_s: f64,
    /// The request that the decision is about: A's, or B's where A decides on none.
    pub request: Option<u32>,
    /// In A.
    pub a: Option<ShownDecision>,
    /// In B.
    pub b: Option<ShownDecision>,
}

/// A decision of gateway or scheduler: which request it is about, what was decided, and which test compared what.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "DecisionText"))]
pub struct ShownDecision {
    /// When, seconds.
    pub time_s: f64,
    /// The replica; none of the gateway.
    pub replica: Option<u16>,
    /// The request; none where no waiting request was admitted.
    pub request: Option<u32>,
    /// What was decided.
    pub verdict: &'static str,
    /// The test that decided it.
    pub test: &'static str,
    /// What the test needed, in its unit.
    pub need: Option<u32>,
    /// What there was.
    pub have: Option<u32>,
    /// The request that it was decided for, where that is another one.
    pub for_request: Option<u32>,
    /// In English, as the terminal prints it.
    pub sentence: String,
}

impl ShownDecision {
    fn of(decision: &Decision) -> Self {
        let numbers = decision.compared.numbers();
        Self {
            time_s: decision.time_us / 1e6,
            replica: decision.replica().map(ReplicaIndex::get),
            request: decision.request().map(RequestId::get),
            verdict: decision.verdict.name(),
            test: decision.compared.test.name(),
            need: numbers.map(|numbers| numbers.0),
            have: numbers.map(|numbers| numbers.1),
            for_request: decision.on_behalf_of().map(RequestId::get),
            sentence: described(decision),
        }
    }
}

/// Seconds, to the microsecond.
fn seconds(us: f64) -> String {
    let text = format!("{:.6}", us / 1e6);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// What was decided, with what the test compared: `admits request 7 (KV blocks: 8 needed, 9 free)`.
pub fn described(decision: &Decision) -> String {
    let Some(id) = decision.request() else {
        return format!("admits no waiting request{}", in_brackets(&decision.compared));
    };
    let what = match decision.verdict {
        Verdict::Forwarded => format!("forwards request {id} to the engine"),
        Verdict::Routed => format!("routes request {id}"),
        Verdict::Admitted => format!("admits request {id}"),
        Verdict::Disaggregated => format!("has the prompt of request {id} computed by a prefill replica"),
        Verdict::Aggregated => format!("has the prompt of request {id} computed by the decode replica"),
        Verdict::Loads => format!("begins to load KV blocks of request {id}"),
        Verdict::Waits => format!("leaves request {id} waiting"),
        Verdict::Skipped => format!("skips request {id}"),
        Verdict::AwaitsInput => format!("keeps the session of request {id}"),
        Verdict::DraftsDropped => format!("drops drafts of request {id}"),
        Verdict::DraftsPadded => format!("pads request {id} beside requests with drafts"),
        Verdict::Preempted => format!("preempts request {id}{}", for_whom(decision)),
        Verdict::SwappedOut => format!("copies request {id} to the host{}", for_whom(decision)),
        Verdict::SwappedIn => format!("copies request {id} back from the host"),
        Verdict::Rejected(reason) => format!("rejects request {id}, {}", reason.name()),
        Verdict::TimedOut => format!("gives request {id} up after its deadline"),
    };
    what + &in_brackets(&decision.compared)
}

fn for_whom(decision: &Decision) -> String {
    match decision.on_behalf_of() {
        Some(other) if Some(other) != decision.request() => format!(" for request {other}"),
        _ => String::new(),
    }
}

fn in_brackets(compared: &Compared) -> String {
    let name = match compared.test {
        Test::None => return String::new(),
        Test::KvBlocks => "KV blocks",
        Test::PeakTokens => "KV tokens at the worst moment",
        Test::ExpectedTokens => "KV tokens with the longest output",
        Test::UnreservedBlocks => "KV blocks to the end of max_tokens",
        Test::PrefixUnderWay => "its prefix is computed for another request",
        Test::PromptCount => "prompts of a batch",
        Test::TokenBudget => "token budget",
        Test::RunningCap => "cap on running requests",
        Test::LoraSlots => "LoRA slots",
        Test::TokensUnderWay => "tokens under way",
        Test::CopyUnderWay => "a block of it is being copied",
        Test::RequestTokens => "bound on tokens",
        Test::LoraRank => "LoRA rank",
        Test::InSystem => "requests in the service",
        Test::CachedPrompt => "prompt",
        Test::UncachedPrompt => "prompt tokens not cached",
        Test::PrefillLoad => "prompt tokens that wait at the prefill replica",
        Test::RankRequests => "requests on the rank",
        Test::RequestsPerMinute => "requests a minute",
        Test::TokensPerMinute => "tokens a minute",
        Test::Concurrency => "concurrency",
        Test::KvReservation => "KV reservation",
        Test::FairShare => "fair share under overload",
    };
    let Some((need, have)) = compared.numbers() else { return format!(" ({name})") };
    match compared.test {
        Test::KvBlocks | Test::UnreservedBlocks | Test::TokenBudget | Test::KvReservation => {
            format!(" ({name}: {need} needed, {have} free)")
        }
        Test::PeakTokens | Test::ExpectedTokens => format!(" ({name}: {need}, less than {have} allowed)"),
        Test::TokensUnderWay => format!(" ({name}: {need})"),
        Test::RankRequests => format!(" ({name}: {need} of its front end, {have} by the coordinator)"),
        Test::CachedPrompt => format!(" ({name}: {need} tokens, {have} believed to be cached)"),
        _ => format!(" ({name}: {need}, at most {have})"),
    }
}

#[cfg(test)]
mod tests {
    use servescope_settings::scenario::Scenario;

    use super::*;
    use crate::run::SimulationHandle;

    fn run(settings: &[(&str, &str)]) -> Run {
        let mut scenario = Scenario::of_version(4);
        for (path, value) in
            settings.iter().chain(&[("workload.duration_s", "30"), ("workload.rate_rps", "4")])
        {
            scenario.set_text(path, value).unwrap();
        }
        SimulationHandle::begin(&scenario, None).unwrap().with_decisions().run()
    }

    fn sides(difference: &DecisionDifference) -> [ShownDecision; 2] {
        let DifferingDecisions { a, b, .. } = difference.differing().unwrap();
        [a.unwrap(), b.unwrap()]
    }

    #[test]
    fn a_smaller_cap_parts_two_runs_of_every_scheduler_and_nothing_parts_equal_ones() {
        for kind in ["slora", "static", "orca", "vllm", "sarathi", "lightllm", "vllm_v1", "sglang", "trtllm"]
        {
            let of = |most: &str| run(&[("scheduler.kind", kind), ("scheduler.max_running_requests", most)]);
            let (wide, narrow) = (of("60"), of("2"));
            assert_eq!(DecisionDifference::of(&wide, &of("60")).differing(), None);
            let difference = DecisionDifference::of(&wide, &narrow);
            let [a, b] = sides(&difference);
            assert_eq!(a.verdict, "admitted", "{kind}: {a:?}");
            assert_eq!(b.test, "running_cap", "{kind}: {b:?}");
            let sentence = difference.sentence();
            let ends = "B admits no waiting request (cap on running requests: 3, at most 2) at";
            assert!(sentence.starts_with("first different decision: A admits request "), "{sentence}");
            assert!(sentence.contains(ends), "{kind}: {sentence}");
        }
    }

    #[test]
    fn a_quota_parts_two_runs_at_the_gateway() {
        let of = |rpm: &str| {
            run(&[("gateway.kind", "proxy"), ("gateway.rpm", rpm), ("workload.users.count", "1")])
        };
        let [a, b] = sides(&DecisionDifference::of(&of("100000"), &of("30")));
        assert_eq!(a.verdict, "forwarded", "{a:?}");
        assert_eq!(b.test, "requests_per_minute", "{b:?}");
        assert_eq!(a.request, b.request);
    }
}
