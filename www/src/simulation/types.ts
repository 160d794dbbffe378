// The types of the wasm boundary, under one name for the whole page. They are written beside the Rust structs and
// travel with the package, so nothing here can drift from them.
export type {
  Axis, Capacity, CapacityChecked, CapacityEntry, CapacityGrid, CapacityLoad, CapacityMiss, CapacityStanding, ChartData, ComparedMetric, ComparedPair, ComparedRequest, Comparison, Condition, DecisionTold, DeploymentView, Distribution, RequestFacts, Fact, Failure, Failures, FitReply, FitRow, FittedProfile, FleetSummary, GroupRow, Headline, MeasuredRun, Moment, MonitorOptions, MonitorView, OverlaidMetric, OverlayFit, OverlayTold, OwnModel, Parameter, ParameterValue, Peeked, PlotFrame, PriceQuote, ProfileFiles, PublishedErrors,
  PublishedFigure, PublishedPoint, ReadResult, RelativeErrors, ReplicaRow, Resolution,
  DebuggerStep, Gantt, GanttLane, GanttPhase, StepAdapters, StepCounters, StepGateway, StepKv, StepLimits, StepPeak, StepQueue, StepQueueRow, StepReplica, StepTold, StepView,
  Delayed, RequestDelay, RequestWhy, RunOptions, ScenarioPatch, Schema, SeedRange, SeedRun, SeedSpans, Series, Shaped, SliderRange, SourceInfo, StepField, StepKind, StepKinds, StepNote, Why, WhyGroup,
  Summary, SweepCell, SweepExpected, SweepPlan, SweepPoint, SweepResults, SweepSpec, SweepView, TraceColumns, TraceShape, Traffic, TurnFound, TurnKnown, TurnSpec, TurnStep,
} from '../../pkg/servescope.js';

import type { Failure, Failures } from '../../pkg/servescope.js';

export type ExportKind = 'requests.csv' | 'batches.csv' | 'events.csv' | 'clients.csv' | 'clients_over_time.csv' | 'trace.json' | 'summary.json';

/** What the wasm module throws on purpose; a trap or a bug is anything else. */
export function isFailures(thrown: unknown): thrown is Failures {
  return typeof thrown === 'object' && thrown !== null && 'failures' in thrown && Array.isArray(thrown.failures);
}

export function failuresOf(thrown: unknown): Failure[] {
  if (isFailures(thrown)) return thrown.failures;
  return [{ code: 'internal', path: '', message: messageOf(thrown), params: {} }];
}

/** What failures are about, for the document. */
export function codesOf(failures: readonly Failure[]): string {
  return failures.map(({ code }) => code).join(' ');
}

export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
