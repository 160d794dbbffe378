//! Sums over a fleet's iterations: asked about each number of decoding requests once, they are what each run by itself says.

use std::sync::Arc;

use proptest::prelude::*;
use servescope_cost::deployment::{Deployment, KvFormat, WeightFormat};
use servescope_cost::gpus::Gpu;
use servescope_cost::models::{MODELS, Model};
use servescope_cost::roofline::{Corrections, HostTime, Roofline};
use servescope_cost::{Batch, BatchCost, LoraBatch, OperatorClass, StageParts, Work};
use servescope_engine::metrics::operators::RunTotals;
use servescope_engine::metrics::usage::usage;
use servescope_engine::{Fleet, PoolConfig, SchedulerKind};
use servescope_workload::trace::Request;
use servescope_workload::{BASE_MODEL, Trace};

prop_compose! {
    fn any_trace()(rows in prop::collection::vec((0u32..300_000, 1u32..3_000, 1u32..400, 0u32..6), 1..60)) -> Trace {
        let (mut trace, mut now_us) = (Trace::default(), 0.0);
        for (gap_us, input_tokens, output_tokens, adapter) in rows {
            now_us += f64::from(gap_us);
            let adapter = if adapter < 4 { adapter } else { BASE_MODEL };
            let max_tokens = output_tokens;
            trace.push(Request { arrival_us: now_us, user: 0, adapter, input_tokens, output_tokens, max_tokens });
        }
        trace.adapter_rank = vec![8, 16, 32, 64];
        trace
    }
}

fn any_cost() -> impl Strategy<Value = Roofline> {
    let host = (0.0..500f64, 0.0..20f64, prop_oneof![Just(0.0), 0.0..800f64]);
    (0..MODELS.len(), 0..3u32, 1..4u32, any::<bool>(), host).prop_map(
        |(model, tensor, stages, fitted, host)| {
            let deployment = Deployment {
                gpu: *Gpu::named("a100_80_sxm").unwrap(),
                model: *Model::named(MODELS[model].id).unwrap(),
                tensor_parallel: 1 << tensor,
                pipeline_parallel: stages,
                expert_layout: servescope_cost::ExpertLayout::ALONE,
                weights: WeightFormat::Bf16,
                quantized_head: false,
                kv: KvFormat::Bf16,
            };
            let corrections = if fitted { Corrections::of("a100_80_sxm") } else { &Corrections::NONE };
            let (base_us, per_request_us, launch_per_layer_us) = host;
            Roofline::new(deployment, corrections, HostTime { base_us, per_request_us, launch_per_layer_us })
        },
    )
}

proptest! {
    #[test]
    fn sums_are_those_of_every_run(
        trace in any_trace(), cost in any_cost(), scheduler in prop::sample::select(&SchedulerKind::ALL[..]),
    ) {
        let config = PoolConfig { scheduler, ..PoolConfig::default() };
        let report = Fleet::of_pool(Arc::new(trace), config, Box::new(cost)).run();
        let (mut us, mut work) = (StageParts::default(), Work::default());
        for run in &report.timeline.iterations {
            let totals = RunTotals::of(&report.timeline, &cost, run);
            us.iter_mut().zip(totals.us).for_each(|(sum, part)| *sum += part);
            let of_run = totals.work.unwrap();
            work.flops += of_run.flops;
            work.bytes += of_run.bytes;
        }
        let (usage, _) = usage(&report);
        let all_us: f64 = us.iter().sum();
        for (class, (found, expected)) in OperatorClass::ALL.iter().zip(usage.totals_us.iter().zip(us)) {
            prop_assert!((found - expected).abs() <= 1e-9 * all_us, "{class:?}: {found} and {expected} of {all_us}");
        }
        let found = usage.replicas[0].work.unwrap();
        prop_assert!((found.flops - work.flops).abs() <= 1e-9 * work.flops);
        prop_assert!((found.bytes - work.bytes).abs() <= 1e-9 * work.bytes);
    }

    #[test]
    fn a_model_that_answers_for_all_batches_of_a_size_is_right_about_each(
        cost in any_cost(), decodes in 1u32..300, mean in 0u32..5_000, rank in 0u32..65,
    ) {
        let decode_kv_tokens = f64::from(decodes) * f64::from(mean);
        let (any_adapter, lora) = (rank > 0, LoraBatch::of_one(rank, decodes));
        let batch = Batch { decodes, decode_kv_tokens, any_adapter, lora, ..Batch::default() };
        let (parts, work) = cost.usage(&batch);
        if let Some(mut known) = cost.decode_usage(decodes) {
            let (us, added) = if any_adapter { cost.lora_usage(&lora) } else { (0.0, Work::default()) };
            known.parts[OperatorClass::Adapters as usize] += us;
            for class in OperatorClass::ALL.into_iter().filter(|&class| class != OperatorClass::DecodeAttention) {
                prop_assert_eq!(known.parts[class as usize], parts[class as usize]);
            }
            let (work, [none, each]) = (work.unwrap(), known.work.unwrap());
            let flops = none.flops + decode_kv_tokens * each.flops + added.flops;
            let bytes = none.bytes + decode_kv_tokens * each.bytes + added.bytes;
            prop_assert!((flops - work.flops).abs() <= 1e-9 * work.flops);
            prop_assert!((bytes - work.bytes).abs() <= 1e-9 * work.bytes);
        }
    }
}
