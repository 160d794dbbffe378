// What the page and a thread of the pool say to each other.
import type { Found, Standings } from './capacity-calls.js';
import type { Inputs } from '../simulation/inputs.js';
import type { Start } from '../simulation/start.js';
import type { CapacityChecked, CapacityEntry, CapacityGrid, ComparedPair, Comparison, Diagnostic, MeasuredRun, OverlayReply, ReadResult, ReplicaLoad, ScenarioPatch, SeedRun, SeedSpans, WaitCause } from '../simulation/types.js';
import type { Reply } from '../simulation/worker-link.js';

/** Work of many milliseconds: a thread does one at a time, in slices, and can be stopped between two. */
export type Task =
  | { kind: 'search'; scenario: ScenarioPatch }
  /** The load of the replicas. */
  | { kind: 'load'; scenario: ScenarioPatch }
  /** What makes requests wait, by runs without it. */
  | { kind: 'causes'; scenario: ScenarioPatch }
  /** The settings without which the run is the same, by runs without them. */
  | { kind: 'unneeded'; scenario: ScenarioPatch }
  /** The highest rate at which the SLO holds, by a quick search. */
  | { kind: 'slo'; scenario: ScenarioPatch }
  /** What the ranking says that the load needs, simulated. */
  | { kind: 'check'; scenario: ScenarioPatch; replicas: number; requests: number; missed: number | null }
  /** The usual metrics of a run with this seed. */
  | { kind: 'measure'; scenario: ScenarioPatch; seed: number }
  /** The headline numbers of a run with this seed, and its curves on these axes. */
  | { kind: 'seed'; scenario: ScenarioPatch; seed: number; spans: SeedSpans | null }
  /** A and B with this seed, request by request. */
  | { kind: 'pair'; a: ScenarioPatch; b: ScenarioPatch; seed: number }
  /** A measured run, as the studio reads it, over its simulation, and constants fitted to it. */
  | { kind: 'overlay'; measured: ReadResult; scenario: ScenarioPatch; fit: readonly string[] }
  /** These metrics of a run with this seed. */
  | { kind: 'metrics'; scenario: ScenarioPatch; seed: number; metrics: readonly string[] };

/** What in a thread's module holds the inputs of a task; null where a task takes none. A thread has one at a time, since a trace of a
 * million requests is some 60 MB. */
export const HOLDERS = {
  search: 'capacity', slo: 'capacity', check: 'capacity',
  load: 'load', causes: 'causes', unneeded: 'unneeded',
  measure: 'compare', seed: 'compare', pair: 'compare', metrics: 'compare',
  overlay: null,
} as const satisfies Record<Task['kind'], string | null>;

export type Holder = NonNullable<(typeof HOLDERS)[Task['kind']]>;

export function isTask<T extends { kind: string }>(message: T): message is Extract<T, { kind: Task['kind'] }> {
  return Object.hasOwn(HOLDERS, message.kind);
}

export interface TaskResult {
  search: Found;
  load: ReplicaLoad | null;
  causes: readonly WaitCause[] | null;
  unneeded: readonly Diagnostic[] | null;
  /** Requests a second; null where it holds at no rate. */
  slo: number | null;
  check: CapacityChecked;
  measure: MeasuredRun;
  seed: SeedRun;
  pair: ComparedPair;
  metrics: MeasuredRun;
  overlay: OverlayReply;
}

/** Answered at once, between two slices of a task. */
export type Question =
  | { kind: 'grid'; scenario: ScenarioPatch }
  | { kind: 'standings'; entries: CapacityEntry[] }
  /** The seeds of a comparison: those of A. */
  | { kind: 'seeds'; a: ScenarioPatch; count: number }
  /** What the runs of these seeds say of each metric. */
  | { kind: 'comparison'; seeds: readonly number[]; a: readonly MeasuredRun[]; b: readonly MeasuredRun[] };

export interface QuestionResult {
  grid: CapacityGrid;
  standings: Standings;
  seeds: readonly number[];
  comparison: Comparison;
}

export type ToThread =
  | Start
  /** Before the first task of a holder, and of other inputs. */
  | { kind: 'inputs'; inputs: Inputs }
  | (Task & { ticket: number })
  | (Question & { ticket: number })
  /** Lets go of the task under way. */
  | { kind: 'stop' };

export type FromThread = Reply<TaskResult[Task['kind']] | QuestionResult[Question['kind']]>;
