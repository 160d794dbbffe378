// The messages between the page and its worker. The page asks; the worker answers with the same revision or ticket.
import type { Simulator } from '../../pkg/servescope.js';
import type { Start } from './start.js';
import type { ChartData, ExportKind, RequestFacts, Diagnostic, RunOptions, ScenarioPatch, Summary, TraceColumns } from './types.js';

/** Questions that get exactly one reply, whatever runs meanwhile. */
export type Query =
  | { kind: 'charts'; options: RunOptions }
  | { kind: 'request'; id: number }
  | { kind: 'export'; what: ExportKind }
  | { kind: 'load-trace'; name: string; columns: TraceColumns }
  | { kind: 'clear-trace' }
  /** A method of the simulator, and what it takes. */
  | { kind: 'call'; call: SimulatorCall; values: unknown[] };

export type SimulatorCall = keyof Pick<Simulator, 'deployment' | 'fleet' | 'load_profile' | 'moment' | 'monitor' | 'most_delayed' | 'why' | 'why_request'>;

export interface QueryResult {
  charts: ChartData[];
  request: RequestFacts;
  export: string;
  'load-trace': null;
  'clear-trace': null;
  /** What the method returns. */
  call: unknown;
}

export type ToWorker =
  | Start
  /** What can be fetched while the module is compiled: the table of the first run, beside the page. */
  | { kind: 'expect'; page: string; table: string }
  | { kind: 'run'; revision: number; scenario: ScenarioPatch; preview: ScenarioPatch | null; options: RunOptions }
  | { kind: 'cancel' }
  | { kind: 'query'; ticket: number; query: Query };

export interface Answer {
  revision: number;
  /** A shorter run, shown until the whole one is there. */
  preview: boolean;
  summary: Summary;
  /** When the last request arrives. */
  traffic_end_s: number;
  /** Those in sight. */
  charts: ChartData[];
  /** The other charts follow. */
  more: boolean;
  /** How the charts look at the run. */
  options: RunOptions;
  /** Time the worker computed for this answer, pauses left out. */
  compute_ms: number;
}

export type FromWorker =
  | { kind: 'progress'; revision: number; fraction: number }
  | ({ kind: 'answer' } & Answer)
  /** Those charts of the last answer that were out of sight. */
  | { kind: 'others'; revision: number; charts: ChartData[] }
  | { kind: 'failed'; revision: number; errors: Diagnostic[] }
  | { kind: 'cancelled'; revision: number }
  | { kind: 'reply'; ticket: number; value: QueryResult[Query['kind']] }
  | { kind: 'refused'; ticket: number; errors: Diagnostic[] }
  /** The module trapped; its memory cannot be trusted any more. */
  | { kind: 'died'; message: string };

/** The buffers of charts, to hand over instead of copying. */
export function buffersOf(charts: readonly ChartData[]): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  for (const chart of charts) {
    for (const { x, y, y0, x2, id } of chart.series) {
      for (const column of [x, y, y0, x2, id]) {
        if (column.buffer instanceof ArrayBuffer && column.byteLength > 0) buffers.add(column.buffer);
      }
    }
  }
  return [...buffers];
}
