//! The memory planner and the settings read from the flags, against the derived numbers of each run.

use super::cases;

#[test]
fn blocks_slots_and_caps_are_the_planners() {
    for case in cases() {
        let fleet = case.run().pool;
        let mut checked = 0;
        let mut check = |key: &str, ours: u32| {
            if let Some(theirs) = case.config["derived"][key].as_u64() {
                assert_eq!(u64::from(ours), theirs, "{}: {key}", case.name());
                checked += 1;
            }
        };
        check("num_blocks_per_replica", fleet.blocks);
        check("block_size", fleet.block_size);
        check("watermark_blocks", fleet.watermark_blocks);
        check("max_blocks_per_sequence", fleet.slot_blocks());
        check("max_batch_size_memory_planner_capped", fleet.slots());
        check("batch_size_cap", fleet.max_requests);
        check("chunk_size", fleet.chunk_tokens);
        check("max_tokens_in_batch", fleet.max_batch_tokens);
        servescope_tests::report_cases(&case.folder.join("config.json"), checked);
    }
}
