//! Which requests meet the SLO: a mean time per output token and a largest gap are two bounds.

use std::sync::Arc;

use crate::given::requests;
use servescope_cost::{AdapterCost, LinearCost};
use servescope_engine::metrics::monitor::{ClientTotals, Monitor, MonitorOptions};
use servescope_engine::metrics::slo::{Slo, SloCount};
use servescope_engine::queue::Client;
use servescope_engine::{Fleet, PoolConfig, Report, SchedulerKind};
use servescope_workload::BASE_MODEL;

/// Iterations of a second; a prompt takes as many seconds as it has hundreds of tokens.
const COST: LinearCost = LinearCost {
    prefill_base_us: 0.0,
    prefill_per_token_us: 10_000.0,
    decode_base_us: 1e6,
    decode_per_request_us: 0.0,
    decode_per_kv_token_us: 0.0,
    overhead_us: 0.0,
    adapters: AdapterCost::FREE,
};

/// One request of thirty tokens decodes; the prompt of a second one, five seconds long, comes between.
fn stalled_once(scheduler: SchedulerKind) -> Report {
    let trace = requests([(0.0, 0, BASE_MODEL, 100, 30), (4.5e6, 1, BASE_MODEL, 500, 2)]);
    let config = PoolConfig { scheduler, idle_poll_us: 0.0, ..PoolConfig::slora() };
    Fleet::of_pool(Arc::new(trace), config, Box::new(COST)).run()
}

#[test]
fn a_stall_breaks_the_bound_on_the_gap_and_keeps_that_on_the_mean() {
    for scheduler in [SchedulerKind::Slora, SchedulerKind::Vllm, SchedulerKind::Orca, SchedulerKind::LightLlm]
    {
        let report = stalled_once(scheduler);
        let gap_us = report.longest_gap_us(0);
        let tpot_us = report.tpot_us(0).unwrap();
        assert!((5e6..=7e6).contains(&gap_us), "{scheduler:?}: {gap_us}");
        assert!(tpot_us < 2e6, "{scheduler:?}: {tpot_us}");
        assert!(report.longest_gap_us(1) < 1.5e6, "{scheduler:?}: what was before it came is not its own");
        let slo = Slo { ttft_s: 60.0, tpot_s: 2.0, tbt_s: f64::INFINITY };
        let met = |slo: Slo| [0, 1].map(|id| slo.is_met(&report, id));
        assert_eq!(met(slo), [true, true]);
        assert_eq!(met(Slo { tbt_s: 3.0, ..slo }), [false, true]);
        assert_eq!(met(Slo { tbt_s: gap_us / 1e6, ..slo }), [true, true], "the bound itself is kept");
        assert_eq!(met(Slo { tpot_s: 1.1, ..slo }), [false, true]);
        let all = |slo: Slo| {
            let mut count = SloCount::default();
            (0..2).for_each(|id| count.add(slo, &report, id));
            count.shares(2)
        };
        assert_eq!(all(Slo { tbt_s: 3.0, ..slo }), [Some(1.0), Some(0.5)], "attainment stays S-LoRA's");
        let options = MonitorOptions {
            client: Client::User,
            window_us: None,
            windows: 3,
            most: 2,
            slo: Slo { tbt_s: 3.0, ..slo },
        };
        let of_users = Monitor::measure(&report, &options).clients;
        let of = |id: i64| of_users.iter().find(|user| user.id == id).unwrap();
        assert_eq!([of(0), of(1)].map(ClientTotals::attainment), [Some(1.0); 2]);
        assert_eq!([of(0), of(1)].map(ClientTotals::attainment_all), [Some(0.0), Some(1.0)]);
    }
}
