// The types of the wasm boundary, under one name for the whole page. They are written beside the Rust structs and
// travel with the package, so nothing here can drift from them.
export type {
  Axis, Capacity, CapacityChecked, CapacityEntry, CapacityGrid, CapacityMiss, CapacityStanding, ChartData, ComparedMetric, ComparedPair, ComparedRequest, Comparison, Condition, DecisionText, DeploymentView, Distribution, RequestFacts, Fact, Diagnostic, CallErrors, FitReply, FitRow, FittedProfile, FleetSummary, GroupRow, Headline, MeasuredRun, Moment, MonitorOptions, MonitorView, OverlaidMetric, OverlayCause, OverlayFit, OverlayReply, OwnModel, Parameter, Place, PlaceKind, PoolMoment, ParameterValue, Peeked, PlotFrame, PoolRow, PriceQuote, ProfileFiles, PublishedErrors,
  PublishedFigure, PublishedPoint, LengthsFile, ReadResult, RecognisedFile, RelativeErrors, ReplicaRow, Resolution, ReplicaLoad,
  DebuggerStep, Gantt, GanttLane, GanttPhase, StepAdapters, StepCounters, StepGateway, StepKv, StepLimits, StepPeak, StepQueue, StepQueueRow, StepRadix, StepRated, StepReplica, StepText, StepView,
  Delayed, RequestDelay, RequestWhy, RunOptions, ScenarioPatch, Schema, SeedRange, SeedRun, SeedSpans, Series, Shaped, SliderRange, SourceInfo, SplitBy, StepField, StepKind, StepKinds, StepNote, Why, WhyGroup,
  Summary, SweepCell, SweepExpected, SweepPlan, SweepPoint, SweepResults, SweepSpec, SweepView, TraceColumns, TraceShape, Traffic, CrossoverFound, CrossoverKnown, CrossoverSpec, CrossoverStep, WaitCause,
} from '../../pkg/servescope.js';

import type { Diagnostic, CallErrors } from '../../pkg/servescope.js';

export type ExportKind = 'requests.csv' | 'batches.csv' | 'operators.csv' | 'events.csv' | 'clients.csv' | 'clients_over_time.csv' | 'trace.json' | 'summary.json';

/** Codes of what a network that is back may mend. */
export const NEEDS_NETWORK: readonly string[] = ['needs_table', 'missing_part'];

/** What the wasm module throws on purpose; a trap or a bug is anything else. */
export function isCallErrors(thrown: unknown): thrown is CallErrors {
  return typeof thrown === 'object' && thrown !== null && 'errors' in thrown && Array.isArray(thrown.errors);
}

export function errorsOf(thrown: unknown): Diagnostic[] {
  if (isCallErrors(thrown)) return thrown.errors;
  return [pageError('internal', messageOf(thrown))];
}

/** An error that the page finds itself. */
export function pageError(code: string, message: string, path = '', params: Diagnostic['params'] = {}): Diagnostic {
  return { severity: 'error', code, path, message, params };
}

/** What diagnostics are about, for the document. */
export function codesOf(errors: readonly Diagnostic[]): string {
  return errors.map(({ code }) => code).join(' ');
}

export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
