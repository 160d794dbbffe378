//! What the requests that are in the service at the time of a step do from their arrival to their end: a lane each.

use servescope_workload::RequestId;

use serde::Serialize;
use servescope_engine::Report;
use servescope_engine::decisions::{Decision, Verdict};
use servescope_workload::statistics::sort_by_number;

use super::view::RequestName;

/// Most lanes.
const MOST_LANES: usize = 40;

/// Times of one phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct GanttPhase {
    /// Which one.
    #[cfg_attr(
        feature = "types",
        ts(type = "'gateway' | 'queue' | 'prefill' | 'decode' | 'stalled' | 'preempted'")
    )]
    pub phase: &'static str,
    /// Beginning and end of each, in turn, seconds.
    pub spans_s: Vec<f64>,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct GanttLane {
    /// Which one.
    #[serde(flatten)]
    pub name: RequestName,
    /// What it does when; the phases together are all of its time.
    pub phases: Vec<GanttPhase>,
}

/// The requests in the service at a time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct Gantt {
    /// When the first of the lanes begins, seconds.
    pub from_s: f64,
    /// When the last of them ends.
    pub to_s: f64,
    /// Requests in the service.
    pub count: usize,
    /// The first of them by arrival, and the request of the step.
    pub lanes: Vec<GanttLane>,
}

const PHASES: [&str; 7] = ["gateway", "queue", "loading", "prefill", "decode", "stalled", "preempted"];
/// Places in [`PHASES`].
const GATEWAY: usize = 0;
const QUEUE: usize = 1;
const LOADING: usize = 2;
const PREFILL: usize = 3;
const DECODE: usize = 4;
const STALLED: usize = 5;
const PREEMPTED: usize = 6;

/// Times of a request by phase, microseconds.
type Spans = [Vec<[f64; 2]>; PHASES.len()];

/// The places of rows by the request that each is about, in their order.
#[derive(Debug)]
struct PlacesByRequest {
    /// Where those of a request begin; one more than there are requests.
    begins: Vec<u32>,
    places: Vec<u32>,
}

impl PlacesByRequest {
    /// A counting sort.
    fn of(requests: usize, rows: impl Iterator<Item = Option<RequestId>> + Clone) -> Self {
        let mut begins = vec![0; requests + 1];
        rows.clone().flatten().for_each(|id| begins[id.index() + 1] += 1);
        for place in 1..begins.len() {
            begins[place] += begins[place - 1];
        }
        let mut next = begins.clone();
        let mut places = vec![0; begins[requests] as usize];
        for (place, id) in rows.enumerate().filter_map(|(place, id)| Some((place, id?))) {
            places[next[id] as usize] = place as u32;
            next[id] += 1;
        }
        Self { begins, places }
    }

    fn places(&self, id: RequestId) -> impl Iterator<Item = usize> + '_ {
        let own = self.begins[id] as usize..self.begins[id.index() + 1] as usize;
        self.places[own].iter().map(|&place| place as usize)
    }
}

/// What a run has of each request, found once: a step looks at few.
#[derive(Debug)]
pub(super) struct GanttIndex {
    prefills: PlacesByRequest,
    stalls: PlacesByRequest,
    decisions: PlacesByRequest,
    end_us: f64,
}

impl GanttIndex {
    /// Of a run whose decisions were kept.
    pub(super) fn of(report: &Report) -> Self {
        let n = report.trace.len();
        let (prefills, stalls) = report
            .phases
            .as_deref()
            .map_or((&[][..], &[][..]), |phases| (phases.prefills.as_slice(), phases.stalls.as_slice()));
        let decisions = report.decisions.as_deref().unwrap_or_default();
        Self {
            prefills: PlacesByRequest::of(n, prefills.iter().map(|phase| Some(phase.request))),
            stalls: PlacesByRequest::of(n, stalls.iter().map(|phase| Some(phase.request))),
            decisions: PlacesByRequest::of(n, decisions.iter().map(Decision::request)),
            end_us: report.end_us(),
        }
    }
}

/// Of a run whose decisions were kept; without the request of the step there may be no lane.
pub(super) fn gantt(
    report: &Report,
    index: &GanttIndex,
    (time_us, of_step): (f64, Option<RequestId>),
    name: &dyn Fn(RequestId) -> RequestName,
) -> Gantt {
    let arrival_us = &report.trace.arrival_us;
    let end_us = |id: RequestId| report.results[id].finish_us.unwrap_or(f64::INFINITY);
    let arrived = arrival_us.partition_point(|&arrival_us| arrival_us <= time_us);
    let mut ids: Vec<RequestId> =
        RequestId::first(arrived).filter(|&id| end_us(id) > time_us || of_step == Some(id)).collect();
    let count = ids.len();
    if count > MOST_LANES {
        let far = of_step.filter(|id| ids[MOST_LANES..].contains(id));
        ids.truncate(MOST_LANES - usize::from(far.is_some()));
        ids.extend(far);
    }
    let (Some(phases), Some(decisions)) = (report.phases.as_deref(), report.decisions.as_deref()) else {
        return Gantt { from_s: 0.0, to_s: 0.0, count, lanes: Vec::new() };
    };
    let run_end_us = index.end_us.max(time_us);
    let lanes = ids.iter().map(|&id| {
        let mut spans = Spans::default();
        let prefills = index.prefills.places(id).map(|place| &phases.prefills[place]);
        spans[PREFILL].extend(prefills.map(|phase| [phase.start_us, phase.end_us]));
        let stalls = index.stalls.places(id).map(|place| &phases.stalls[place]);
        spans[STALLED].extend(stalls.map(|phase| [phase.start_us, phase.end_us]));
        let decisions: Vec<&Decision> = index.decisions.places(id).map(|place| &decisions[place]).collect();
        let life_us = [arrival_us[id], end_us(id).min(run_end_us)];
        let prefilled_us = report.legs(id.index()).map_or(f64::INFINITY, |legs| legs.prefilled_us);
        fill(&mut spans, &decisions, life_us, prefilled_us);
        let phase = |(spans, phase): (&Vec<[f64; 2]>, &'static str)| GanttPhase {
            phase,
            spans_s: spans.iter().flatten().map(|us| us / 1e6).collect(),
        };
        let of_phase = spans.iter().zip(PHASES).filter(|(spans, _)| !spans.is_empty());
        GanttLane { name: name(id), phases: of_phase.map(phase).collect() }
    });
    let lanes: Vec<GanttLane> = lanes.collect();
    let edges = || lanes.iter().flat_map(|lane| &lane.phases).flat_map(|phase| &phase.spans_s).copied();
    let from_s = edges().fold(time_us / 1e6, f64::min);
    let to_s = edges().fold(time_us / 1e6, f64::max);
    Gantt { from_s, to_s, count, lanes }
}

/// Adds the phases outside of the batch, and decodes in it, to prompts and stalls. A request whose prompt another replica computed
/// leaves its batch with that and waits at the one that decodes.
fn fill(spans: &mut Spans, decisions: &[&Decision], [arrival_us, end_us]: [f64; 2], prefilled_us: f64) {
    let mut waits = QUEUE;
    let (mut since_us, mut runs) = (arrival_us, false);
    let mut until = |spans: &mut Spans, time_us: f64, phase: usize, runs: bool| {
        if runs {
            decode(spans, since_us, time_us);
        } else if time_us > since_us {
            spans[phase].push([since_us, time_us]);
        }
        since_us = time_us;
    };
    let mut is_prefilled = false;
    for decision in decisions {
        if !is_prefilled && decision.time_us >= prefilled_us {
            until(spans, prefilled_us, waits, runs);
            (runs, is_prefilled) = (false, true);
        }
        match decision.verdict {
            Verdict::Forwarded => until(spans, decision.time_us, GATEWAY, false),
            Verdict::Admitted | Verdict::SwappedIn => {
                until(spans, decision.time_us, waits, runs);
                runs = true;
            }
            Verdict::Preempted | Verdict::SwappedOut => {
                until(spans, decision.time_us, waits, runs);
                (runs, waits) = (false, PREEMPTED);
            }
            Verdict::Loads => {
                until(spans, decision.time_us, waits, runs);
                waits = LOADING;
            }
            Verdict::Routed
            | Verdict::Disaggregated
            | Verdict::Aggregated
            | Verdict::Waits
            | Verdict::Skipped
            | Verdict::AwaitsInput
            | Verdict::DraftsDropped
            | Verdict::DraftsPadded
            | Verdict::Rejected(_)
            | Verdict::TimedOut => {}
        }
    }
    if !is_prefilled && end_us >= prefilled_us {
        until(spans, prefilled_us, waits, runs);
        runs = false;
    }
    until(spans, end_us, waits, runs);
}

/// What is neither prefill nor a stall of a time in the batch. Before its first prompt is processed a request is stalled.
fn decode(spans: &mut Spans, start_us: f64, end_us: f64) {
    let within = |[start, end]: &[f64; 2]| (start.max(start_us), end.min(end_us));
    let of = |phase: usize| spans[phase].iter().map(move |span| (phase, within(span)));
    let mut cuts: Vec<(usize, (f64, f64))> =
        of(PREFILL).chain(of(STALLED)).filter(|(_, (start, end))| start < end).collect();
    sort_by_number(&mut cuts, |(_, (start, _))| *start);
    let mut at_us = start_us;
    let mut gaps: Vec<(usize, [f64; 2])> = Vec::new();
    for (place, (phase, (start, end))) in cuts.into_iter().enumerate() {
        if start > at_us {
            gaps.push((if place == 0 && phase == PREFILL { STALLED } else { DECODE }, [at_us, start]));
        }
        at_us = at_us.max(end);
    }
    if end_us > at_us {
        gaps.push((DECODE, [at_us, end_us]));
    }
    gaps.into_iter().for_each(|(phase, span)| spans[phase].push(span));
}
