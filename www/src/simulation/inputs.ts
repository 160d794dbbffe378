// What a run takes beside its scenario.
import type { TraceColumns } from './types.js';

/** Null is generated requests and shipped profiles. */
export interface Inputs {
  /** The requests of a file. */
  trace: { name: string; columns: TraceColumns } | null;
  profile: { name: string; text: string } | null;
}

export const SHIPPED: Inputs = { trace: null, profile: null };
