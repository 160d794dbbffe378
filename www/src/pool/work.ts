// A task as a thread of the pool sees it.
import type { FromThread } from './pool-calls.js';

/** What a thread answers. */
export interface Finished {
  value: Extract<FromThread, { kind: 'reply' }>['value'];
  transfer: Transferable[];
}

/** Begins with its scenario, which may throw errors or ask for an operator table, and goes on in slices of milliseconds. */
export interface Work {
  begin(): void;
  /** The share that is done; 1 is the end. */
  advance(): number;
  finish(): Finished;
}
