//! Any bytes as a collection of prompts: read or rejected, and what is read is chosen from and sent in every form as JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;
use servescope_workload::prompts::bodies::Texts;
use servescope_workload::prompts::choice::{ChoiceRule, Chosen};
use servescope_workload::prompts::{BodyLines, BodyOptions, CharactersPerToken, Collection, CountTokens, Endpoint, Form, Sampling};
use servescope_workload::{WorkloadSpec, generate};

fuzz_target!(|bytes: &[u8]| {
    let Ok(collection) = Collection::read(bytes) else { return };
    if let Collection::Plain(prompts) = &collection {
        assert!(prompts.iter().all(|p| CharactersPerToken::DEFAULT.count(&p.text).is_ok_and(|n| n > 0)));
    }
    let trace = generate(&WorkloadSpec { duration_s: 4.0, ..WorkloadSpec::default() });
    let first = bytes.first().copied().unwrap_or(0);
    let rule = ChoiceRule {
        by_length: first % 2 == 0,
        initial_error: f64::from(first) / 255.0,
        concurrent_sessions: usize::from(first % 3),
    };
    let chosen = Chosen::new(collection, &CharactersPerToken::DEFAULT, &trace, rule, 1).expect("a ratio counts");
    for form in Form::ALL {
        let options = BodyOptions {
            form,
            endpoint: if first % 5 == 0 { Endpoint::Completions } else { Endpoint::Chat },
            model: "m".to_owned(),
            adapter_name: "{adapter}".to_owned(),
            sampling: Sampling::default(),
        };
        let mut lines =
            BodyLines::new(&trace, Texts::Chosen(chosen.clone()), options).expect("the defaults are taken");
        let mut out = String::new();
        while lines.next_into(&mut out).expect("chosen prompts need no making") {}
        for line in out.lines() {
            serde_json::from_str::<serde_json::Value>(line).expect("every line is JSON");
        }
    }
});
