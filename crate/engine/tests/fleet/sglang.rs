//! SGLang beside its recorded runs: what they do not have, by hand.

use std::sync::Arc;

use servescope_cost::{AdapterCost, LinearCost};
use servescope_engine::{Fleet, PoolConfig, SchedulerKind, SglangRules};
use servescope_workload::BASE_MODEL;

use crate::given::requests;

/// Every batch takes 100 us.
const COST: LinearCost = LinearCost {
    prefill_base_us: 100.0,
    prefill_per_token_us: 0.0,
    decode_base_us: 100.0,
    decode_per_request_us: 0.0,
    decode_per_kv_token_us: 0.0,
    overhead_us: 0.0,
    adapters: AdapterCost::FREE,
};

/// The first request is read at 0 and decodes from 100 us on. With an interval of 10 the scheduler looks at
/// 100 us, behind its prompt, and then at 1,100; the second request, which came at 450, is read there, the third at once behind the
/// second one's prompt, and the last at once, as nothing runs.
#[test]
fn requests_are_received_every_so_many_decodes() {
    let rows = [(0.0, 0, 40), (450.0, 0, 2), (1_150.0, 0, 2), (100_000.0, 0, 1)];
    let trace = Arc::new(requests(rows.iter().map(|&(at, user, output)| (at, user, BASE_MODEL, 8, output))));
    let first_tokens = |recv_interval| {
        let rules = SglangRules { recv_interval, overlap_schedule: false, ..SglangRules::default() };
        let config = PoolConfig {
            scheduler: SchedulerKind::Sglang,
            sglang: rules,
            blocks: 1_000,
            ..PoolConfig::default()
        };
        let report = Fleet::of_pool(Arc::clone(&trace), config, Box::new(COST)).run();
        [0, 1, 2, 3].map(|id| rows[id].0 + report.ttft_us(id).unwrap())
    };
    assert_eq!(first_tokens(1), [100.0, 600.0, 1_300.0, 100_100.0]);
    assert_eq!(first_tokens(10), [100.0, 1_200.0, 1_300.0, 100_100.0]);
}
