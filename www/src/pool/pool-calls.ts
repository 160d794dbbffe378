// What the page and a thread of the pool say to each other.
import type { Found, Standings } from '../capacity/capacity-calls.js';
import type { Start } from '../simulation/start.js';
import type { CapacityChecked, CapacityEntry, CapacityGrid, CapacityLoad, ScenarioPatch, TraceColumns } from '../simulation/types.js';
import type { Reply } from '../simulation/worker-link.js';

/** What a run takes beside its scenario; null is generated requests and shipped profiles. */
export interface Inputs {
  /** The requests of a file. */
  trace: { name: string; columns: TraceColumns } | null;
  profile: { name: string; text: string } | null;
}

export const SHIPPED: Inputs = { trace: null, profile: null };

/** Work of many milliseconds: a thread does one at a time, in slices, and can be stopped between two. */
export type Task =
  | { kind: 'search'; scenario: ScenarioPatch }
  /** The load as a share of the capacity, by a quick search. */
  | { kind: 'load'; scenario: ScenarioPatch }
  /** What the ranking says that the load needs, simulated. */
  | { kind: 'check'; scenario: ScenarioPatch; replicas: number; requests: number };

export interface TaskResult {
  search: Found;
  /** Null where no rate meets the goal. */
  load: CapacityLoad | null;
  check: CapacityChecked;
}

/** Answered at once, between two slices of a task. */
export type Question =
  | { kind: 'grid'; scenario: ScenarioPatch }
  | { kind: 'standings'; entries: CapacityEntry[] };

export interface QuestionResult {
  grid: CapacityGrid;
  standings: Standings;
}

export type ToThread =
  | Start
  | { kind: 'inputs'; inputs: Inputs }
  | (Task & { ticket: number })
  | (Question & { ticket: number })
  /** Lets go of the task under way. */
  | { kind: 'stop' };

export type FromThread = Reply<TaskResult[Task['kind']] | QuestionResult[Question['kind']]>;
