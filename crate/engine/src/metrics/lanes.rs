//! When each pipeline stage of each replica worked on which iterations.
//!
//! A fleet writes down when a batch entered its pipeline and when it left. A stage serves batches first come first served
//! and takes for each what the cost model says, so the times between follow.

use crate::record::timeline::IterationRun;
use crate::replica_index::ReplicaIndex;
use crate::report::Report;

/// A stage works on equal iterations, without a pause between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StageWork<'a> {
    /// The iterations.
    pub run: &'a IterationRun,
    /// Which stage.
    pub stage: u32,
    /// Start, microseconds.
    pub start_us: f64,
    /// End.
    pub end_us: f64,
}

/// The work of every stage, in order of the iterations' start; within one stage in order of time.
pub fn stage_works(report: &Report) -> impl Iterator<Item = StageWork<'_>> {
    let stages_of = |replica: ReplicaIndex| report.pool(replica).cost.stages().max(1);
    let mut free_us: Vec<Vec<f64>> = ReplicaIndex::first(report.replicas.len())
        .map(|replica| vec![0.0; stages_of(replica) as usize])
        .collect();
    report.timeline.iterations.iter().flat_map(move |run| {
        let model = &*report.pool(run.replica).cost;
        let lanes = &mut free_us[run.replica.index()];
        let stages = lanes.len() as u32;
        let works: Vec<StageWork<'_>> = match stages {
            2.. => {
                let chunks = report.timeline.iterations.chunks(run);
                let batch = run.batch(chunks, 0.0);
                let mut ready_us = run.start_us;
                let pass = |(stage, free_us): (usize, &mut f64)| {
                    let start_us = ready_us.max(*free_us);
                    let is_last = stage as u32 + 1 == stages;
                    let (copying_us, load_us) =
                        if stage == 0 { (run.copying_us, run.adapter_load_us) } else { (0.0, 0.0) };
                    let works_us = model.stage_time(&batch, is_last).first_us + copying_us;
                    let end_us = start_us + (works_us + load_us);
                    (ready_us, *free_us) = (end_us, end_us);
                    StageWork { run, stage: stage as u32, start_us: start_us + load_us, end_us }
                };
                lanes.iter_mut().enumerate().map(pass).collect()
            }
            _ => vec![StageWork { run, stage: 0, start_us: run.begins_us(), end_us: run.end_us }],
        };
        works
    })
}
