//! What is written is what is read.

use super::*;
use proptest::prelude::*;

prop_compose! {
    fn any_run()(
        times in (0.0..1e12f64, prop::option::of(0usize..10), 0.0..1e9f64, prop_oneof![Just(0.0), Just(2.5), -1.0..1e3f64]),
        odd in (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
        counts in prop::array::uniform6(prop_oneof![Just(1), 0u32..200, any::<u32>()]),
        kv_tokens in prop_oneof![0u64..100_000, 0u64..1 << 53],
        adapters in prop::option::of((prop_oneof![0u64..99, any::<u64>()], any::<bool>())),
        chunks in prop::collection::vec((prop_oneof![0u32..200, any::<u32>()], any::<u32>()), 0..5),
        replica in 0u16..4,
        (stalled, resident_adapters, adapter_tokens) in
            (prop_oneof![Just(0), 0u32..300], prop_oneof![Just(0), 0u32..3], prop_oneof![Just(0), any::<u32>()]),
        load in prop_oneof![Just(0.0), Just(0.25)],
        lora in prop::option::of((
            prop_oneof![Just(1), any::<u32>()], any::<u64>(), any::<u32>(), any::<u64>(), any::<[bool; 2]>(),
        )),
    ) -> (Option<usize>, IterationRun, Vec<Chunk>) {
        let (start_us, follows, first_us, growth_us) = times;
        let [iterations, _, prompt_tokens, decodes, fresh, blocks] = counts;
        let prompts = chunks.len() as u32;
        let prompt_tokens = match prompts {
            0 => 0,
            _ if odd.1 => prompt_tokens,
            _ => chunks.iter().fold(0_u32, |sum, chunk| sum.wrapping_add(chunk.1)),
        };
        let mut run = IterationRun {
            start_us, end_us: 0.0, busy_us: 0.0, first_us, growth_us, iterations, replica: replica.into(), prompts, prompt_tokens,
            decodes, fresh: if odd.0 { fresh } else { decodes }, blocks,
            kv_tokens: kv_tokens as f64 + if odd.1 { 0.3 } else { 0.0 },
            rank_sum: adapters.map_or(0, |a| a.0), any_adapter: adapters.is_some_and(|a| a.1),
            copying_us: if odd.0 { 0.5 * first_us } else { 0.0 }, chunks_at: 0,
            stalled, resident_adapters, adapter_tokens, adapter_load_us: load * first_us,
            lora: LoraBatch::default(),
        };
        if let Some((adapters, adapter_ranks, some, ranks, [are_all, is_plain])) = lora {
            let all = if are_all { tokens(&run) } else { some };
            run.lora = LoraBatch { adapters, adapter_ranks, tokens: all, token_ranks: ranks };
            if is_plain {
                run.lora.token_ranks = token_ranks(&run);
            }
        }
        run.end_us = if odd.2 { start_us + first_us } else { end_by_law(&run) };
        run.busy_us = if odd.3 { 0.5 * first_us } else { whole_us(&run) };
        if odd.2 && odd.1 {
            run.first_us = run.end_us - run.start_us;
        }
        (follows, run, chunks.into_iter().map(|(kv_tokens, tokens)| Chunk { kv_tokens, tokens }).collect())
    }
}

proptest! {
    #[test]
    fn steps_are_counted_by_division(time_us in 0.0..1e15f64, end_us in 1e-200..1e18f64) {
        for time_us in [time_us, time_us.min(end_us), 0.0, end_us] {
            let step_us = step_us(end_us);
            prop_assert_eq!(in_steps(time_us, end_us), (time_us / step_us).round() * step_us);
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(rows in prop::collection::vec(any_run(), 0..40)) {
        let mut log = Iterations::default();
        let mut ends: [Vec<f64>; 4] = std::array::from_fn(|_| vec![0.0]);
        let mut starts = [0.0f64; 4];
        let mut expected = Vec::new();
        for (follows, mut run, chunks) in rows {
            // It begins where one of the runs before it ended, or later than all of them did begin.
            let (ends, start) = (&mut ends[usize::from(run.replica)], &mut starts[usize::from(run.replica)]);
            let followed = follows.and_then(|back| ends.iter().rev().nth(back)).filter(|end| **end >= *start);
            let takes_us = run.end_us - run.start_us;
            run.start_us = followed.copied().unwrap_or(run.start_us.max(*start));
            run.end_us = (run.start_us + takes_us).max(run.start_us);
            *start = run.start_us;
            ends.push(run.end_us);
            if is_plain_decode(&run) {
                log.push_turn(run.replica, || run);
            } else {
                log.push(&run, &chunks);
            }
            expected.push((IterationRun { busy_us: kept_busy_us(&run), ..run }, chunks));
        }
        prop_assert_eq!(log.len(), expected.len());
        // A stable sort: of one replica, the order in which they were written.
        expected.sort_by(|a, b| a.0.start_us.total_cmp(&b.0.start_us).then(a.0.replica.cmp(&b.0.replica)));
        let read = |run: IterationRun| (IterationRun { chunks_at: 0, ..run }, log.chunks(&run));
        prop_assert_eq!(log.iter().map(read).collect::<Vec<_>>(), expected);
    }
}
