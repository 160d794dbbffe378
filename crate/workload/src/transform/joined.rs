//! Several traces as one: what their names, adapters and prefix blocks mean beside each other.

use super::error::StepError;
use super::field::Field;
use super::job::Job;
use crate::formats::MAX_INDEX;
use crate::trace::{BASE_MODEL, ClosedLoop, LabelMaker, NO_REQUEST, Trace, TraceMetadata};

/// What an equal name in two traces means.
pub(super) const IDENTITY: Field = Field::choice(
    "identity",
    &["shared", "separate"],
    "whether users, adapters, sessions and prefix blocks of one name or number are the same in every trace",
);

/// Which label a request gets from its trace.
pub(super) const LABEL: Field = Field::choice(
    "label",
    &["none", "user", "kind"],
    "user: the number of the trace is the user; kind: its name is the kind of request",
);

/// The requests of all traces in order of arrival, those of one time in the order of the traces; each trace starts at its
/// offset, in microseconds.
pub(super) fn joined(
    job: &mut Job<'_>,
    traces: Vec<(String, Trace)>,
    offsets_us: &[f64],
) -> Result<Trace, StepError> {
    let separate = job.choice("identity") == "separate";
    let label = job.choice("label");
    let mut all = Trace::with_capacity(traces.iter().map(|(_, trace)| trace.len()).sum());
    let (mut users, mut adapters) = (0, 0);
    // Where one trace is without an end of sending, all are.
    let mut closed_loop = ClosedLoop { until_us: 0.0, ..ClosedLoop::default() };
    for (file, ((_, trace), offset_us)) in (0u32..).zip(traces.iter().zip(offsets_us)) {
        let ids = all.len() as u32;
        for id in 0..trace.len() {
            let mut request = trace.request(id);
            request.arrival_us += offset_us;
            request.user = if label == "user" { file } else { request.user + users };
            if request.adapter != BASE_MODEL {
                request.adapter += adapters;
            }
            all.push(request);
        }
        all.cancellations.extend(trace.cancellations.iter().map(|&(at, id)| (at + offset_us, id + ids)));
        for id in 0..trace.len() {
            let wait = trace
                .closed_loop
                .as_ref()
                .map(|closed_loop| (closed_loop.depends_on[id], closed_loop.think_us[id]));
            let (before, think_us) = wait.filter(|w| w.0 != NO_REQUEST).unwrap_or((NO_REQUEST, 0.0));
            closed_loop.push(if before == NO_REQUEST { NO_REQUEST } else { before + ids }, think_us);
        }
        let until_us =
            trace.closed_loop.as_ref().map_or(f64::INFINITY, |closed_loop| closed_loop.until_us + offset_us);
        closed_loop.until_us = closed_loop.until_us.max(until_us);
        ranks(job, &mut all.adapter_rank, adapters as usize, trace)?;
        if separate {
            users += trace.user_count() as u32;
            adapters += trace.adapter_count() as u32;
        }
        let most = MAX_INDEX + 1;
        if users.max(adapters) > most {
            return Err(StepError::TooManyNames { step: job.name(), count: users.max(adapters), max: most });
        }
    }
    let parts: Vec<(Option<&TraceMetadata>, usize)> =
        traces.iter().map(|(_, trace)| (trace.metadata.as_deref(), trace.len())).collect();
    let (mut metadata, same_blocks) = TraceMetadata::joined(&parts, separate);
    if !same_blocks {
        job.note("blocks_differ", &[]);
    }
    if label == "kind" {
        let mut kinds = LabelMaker::default();
        traces.iter().for_each(|(name, trace)| (0..trace.len()).for_each(|_| kinds.push(Some(name))));
        metadata.kind = kinds.finish();
    }
    if label != "none" {
        job.note("labelled_by_file", &[]);
    }
    all.set_metadata(metadata);
    all.closed_loop = closed_loop.holds_any().then(|| Box::new(closed_loop));
    all.sort();
    all.sort_cancellations();
    Ok(all)
}

/// Adds the ranks of a trace's adapters, the first of which is adapter `first` of all. 0 stands for an unknown one.
fn ranks(job: &Job<'_>, all: &mut Vec<u32>, first: usize, trace: &Trace) -> Result<(), StepError> {
    let end = first + trace.adapter_rank.len();
    all.resize(all.len().max(end), 0);
    for (adapter, (former, &rank)) in (first..).zip(all[first..end].iter_mut().zip(&trace.adapter_rank)) {
        if *former != 0 && rank != 0 && *former != rank {
            let former = *former;
            return Err(StepError::RankConflict { step: job.name(), adapter, rank, former });
        }
        *former = (*former).max(rank);
    }
    Ok(())
}
