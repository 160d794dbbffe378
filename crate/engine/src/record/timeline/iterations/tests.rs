//! What is written is read, in order of time.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn runs_are_read_in_order_of_their_start_with_their_chunks(
        rows in prop::collection::vec((0u8..3, 0u8..3, 0u16..4, prop::collection::vec(any::<[u32; 2]>(), 0..4)), 0..40),
    ) {
        let mut log = Iterations::default();
        let mut starts = [0.0; 4];
        let mut expected = Vec::new();
        for (wait, duration, replica, chunks) in rows {
            let start = &mut starts[usize::from(replica)];
            *start += f64::from(wait);
            let run = IterationRun {
                start_us: *start,
                end_us: *start + f64::from(duration),
                replica: ReplicaIndex::new(replica),
                prompts: chunks.len() as u32,
                // No two are equal.
                iterations: expected.len() as u32,
                ..IterationRun::BLANK
            };
            let chunks: Vec<Chunk> = chunks.into_iter().map(|[kv_tokens, tokens]| Chunk { kv_tokens, tokens }).collect();
            log.push(&run, &chunks);
            expected.push((run, chunks));
        }
        let read = |run: &IterationRun| (IterationRun { chunks_at: 0, ..*run }, log.chunks(run).to_vec());
        for replica in ReplicaIndex::first(5) {
            let own: Vec<_> = expected.iter().filter(|(run, _)| run.replica == replica).cloned().collect();
            prop_assert_eq!(log.of_replica(replica).iter().map(read).collect::<Vec<_>>(), own);
        }
        // A stable sort: of one replica, the order in which they were written.
        expected.sort_by(|a, b| a.0.start_us.total_cmp(&b.0.start_us).then(a.0.replica.cmp(&b.0.replica)));
        prop_assert_eq!(log.len(), expected.len());
        prop_assert_eq!(log.end_us(), expected.iter().map(|(run, _)| run.end_us).fold(0.0, f64::max));
        prop_assert_eq!(log.iter().map(read).collect::<Vec<_>>(), expected);
    }
}
