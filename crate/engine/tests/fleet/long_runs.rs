//! Runs of more iterations than a number of 32 bits counts.

use std::sync::Arc;

use servescope_engine::{Fleet, Outcome, PoolConfig, Report, SchedulerKind};
use servescope_workload::BASE_MODEL;

use crate::given::requests;

use super::toy::{TOY, Toy};

const OUTPUT_TOKENS: u32 = 1_000_000_000;
/// One after the other they take more than 2^32 iterations, also two at a time.
const REQUESTS: u32 = 10;
const POOL_TOKENS: u32 = 3_200_000_000;

fn run(scheduler: SchedulerKind, max_requests: u32) -> Report {
    let trace = requests((0..REQUESTS).map(|id| (f64::from(id), 0, BASE_MODEL, 100, OUTPUT_TOKENS)));
    // LightLLM counts tokens.
    let block_size = if scheduler == SchedulerKind::LightLlm { 1 } else { 16 };
    let config = PoolConfig {
        scheduler,
        max_requests,
        blocks: POOL_TOKENS / block_size,
        block_size,
        max_request_tokens: 2 * OUTPUT_TOKENS,
        // LightLLM looks at the waiting queue as often as this.
        decode_steps_between_prefills: OUTPUT_TOKENS / 100,
        ..PoolConfig::default()
    };
    // An iteration takes as long whatever is in the KV cache, so that few events lie between two requests.
    Fleet::of_pool(Arc::new(trace), config, Box::new(Toy { hold: u32::MAX.into(), ..TOY })).run()
}

const SCHEDULERS: [SchedulerKind; 7] = [
    SchedulerKind::Slora,
    SchedulerKind::Static,
    SchedulerKind::Orca,
    SchedulerKind::Vllm,
    SchedulerKind::Sarathi,
    SchedulerKind::LightLlm,
    SchedulerKind::VllmV1,
];

#[test]
fn a_request_behind_four_thousand_million_iterations_takes_as_long_as_the_first() {
    for scheduler in SCHEDULERS {
        let report = run(scheduler, 1);
        let took_us = |id: usize| {
            let result = &report.results[id];
            assert_eq!(result.outcome, Outcome::Completed, "{scheduler:?}, request {id}");
            result.finish_us.unwrap() - report.scheduled_us(id).unwrap()
        };
        let first_us = took_us(0);
        for id in 1..REQUESTS as usize {
            assert!((took_us(id) - first_us).abs() < 1e-6 * first_us, "{scheduler:?}, request {id}");
        }
    }
}

#[test]
fn requests_that_decode_together_end_beyond_four_thousand_million_iterations() {
    for scheduler in SCHEDULERS {
        let report = run(scheduler, 2);
        for (id, result) in report.results.iter().enumerate() {
            assert_eq!(result.outcome, Outcome::Completed, "{scheduler:?}, request {id}");
        }
    }
}
