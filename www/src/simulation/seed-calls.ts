// What the page and the worker of further seeds say to each other.
import type { Start } from './start.js';
import type { Headline, ScenarioPatch, TraceColumns } from './types.js';
import type { Reply } from './worker-link.js';

export type ToSeeds =
  | Start
  /** The requests to play and the profile to take times from; null goes back to generated and shipped ones. */
  | { kind: 'trace'; trace: { name: string; columns: TraceColumns } | null; profile: { name: string; text: string } | null }
  /** The headline numbers of a scenario. */
  | { kind: 'measure'; ticket: number; scenario: ScenarioPatch }
  /** Lets go of the run under way. */
  | { kind: 'stop' };

export type FromSeeds = Reply<Headline>;
