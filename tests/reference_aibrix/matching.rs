//! `11_prompt_matching.json`: which prompt stands for wanted lengths; the random pick is the first candidate.

use servescope_workload::aibrix::arrivals::TargetLengths;
use servescope_workload::aibrix::matching::{Match, PromptLengths, find, nearest};

#[test]
fn prompt_matching() {
    crate::check_all("prompt_matching", |case, _| {
        let prompts: Vec<PromptLengths> = case
            .input("dataset_prompt_completion_lens")
            .as_array()
            .into_iter()
            .flatten()
            .map(|pair| PromptLengths {
                input_tokens: pair[0].as_u64().unwrap_or(0) as u32,
                output_tokens: pair[1].as_u64().map(|n| n as u32),
            })
            .collect();
        let target = TargetLengths {
            input_tokens: case.input("target_input").as_f64(),
            output_tokens: case.input("target_output").as_f64(),
        };
        let ours = find(&prompts, target, case.number("initial_err"), case.number("err_step"));
        if case.is_error() {
            let one_sided = target.input_tokens.is_none() || target.output_tokens.is_none();
            assert!(one_sided && matches!(ours, Some(Match::Nearest(_))), "{case}: {ours:?}");
            return case.defect("a length not asked for in the nearest, where AIBrix crashes: done right");
        }
        let (picked, candidates, via, error) = match ours {
            Some(Match::Band { error, prompts }) => (prompts[0], Some(prompts.len() as u64), "band", error),
            Some(Match::Nearest(prompt)) => (prompt, None, "nearest", 0.0),
            None => panic!("{case}: nothing found"),
        };
        let theirs: Vec<&str> =
            case.output("picked").as_array().into_iter().flatten().filter_map(|p| p.as_str()).collect();
        let name = |prompt: usize| format!("p{prompt}");
        assert_eq!(theirs.first().copied(), Some(name(picked).as_str()), "{case}");
        assert_eq!(case.output("candidates_at_first_matching_band").as_u64(), candidates, "{case}");
        if theirs.len() > 1 {
            // AIBrix's test for "no band" is also true of a band of half-width 1.
            let also = nearest(&prompts, target).map(name);
            assert!(error >= 1.0 && theirs.get(1).copied() == also.as_deref(), "{case}: {theirs:?}");
            return case.defect("two prompts for one request: the band's is taken");
        }
        assert_eq!(case.output("via"), via, "{case}");
    });
}
