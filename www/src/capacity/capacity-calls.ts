// What the page and a worker of the capacity search say to each other.
import type { Start } from '../simulation/start.js';
import type { Capacity, CapacityChecked, CapacityEntry, CapacityGrid, CapacityLoad, CapacityStanding, ChartData, ScenarioPatch, TraceColumns } from '../simulation/types.js';
import type { Reply } from '../simulation/worker-link.js';

export interface Found { capacity: Capacity; charts: ChartData[] }

export interface Standings { standings: CapacityStanding[]; charts: ChartData[] }

/** The requests of a file. */
export interface Played { name: string; columns: TraceColumns }

export type ToSearcher =
  | Start
  /** The requests to play and the profile to take times from; null goes back to generated and shipped ones. */
  | { kind: 'trace'; trace: Played | null; profile: { name: string; text: string } | null }
  | { kind: 'grid'; ticket: number; scenario: ScenarioPatch }
  | { kind: 'search'; ticket: number; scenario: ScenarioPatch }
  /** The load as a share of the capacity, by a quick search. */
  | { kind: 'load'; ticket: number; scenario: ScenarioPatch }
  /** What the ranking says that the load needs, simulated. */
  | { kind: 'check'; ticket: number; scenario: ScenarioPatch; replicas: number; requests: number }
  | { kind: 'standings'; ticket: number; entries: CapacityEntry[] }
  /** Lets go of the search under way. */
  | { kind: 'stop' };

export type FromSearcher = Reply<CapacityGrid | Found | Standings | CapacityLoad | CapacityChecked | null>;
