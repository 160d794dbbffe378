// What the page asks of the studio's worker. Every call gets exactly one reply; `open` tells how far it has come.
import type { ChartData, Failure, ScenarioPatch, SourceInfo, TraceColumns } from '../engine/types.js';

export interface StudioCalls {
  /** Reads a file, which becomes the source. */
  open: { args: { file: File }; reply: SourceInfo };
  close: { args: null; reply: null };
  /** Looks at what a scenario simulates: generated requests, or the file's as its settings scale them. */
  look: { args: { scenario: ScenarioPatch }; reply: null };
  charts: { args: { columns: number }; reply: ChartData[] };
  columns: { args: null; reply: TraceColumns };
  export: { args: { format: string }; reply: Uint8Array };
  formats: { args: null; reply: string[] };
}

export type CallName = keyof StudioCalls;
export type ToStudio = { [K in CallName]: { ticket: number; call: K; args: StudioCalls[K]['args'] } }[CallName];
export type FromStudio =
  | { kind: 'reply'; ticket: number; value: StudioCalls[CallName]['reply'] }
  | { kind: 'refused'; ticket: number; failures: Failure[] }
  | { kind: 'progress'; fraction: number }
  /** The module trapped; its memory cannot be trusted any more. */
  | { kind: 'died'; message: string };
