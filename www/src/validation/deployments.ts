// Measured deployments of the file that the terminal's core wrote: rows, what they have in common, and their charts.
import { series } from '../draw/series.js';
import { fetchJson } from '../state/presets.js';
import type { Axis, ChartData, RelativeErrors, Series } from '../simulation/types.js';

/** The prefill or the decode servers of a disaggregated deployment. */
export interface Workers { count: number | null; tensor_parallel: number; attention_data_parallel: number; expert_parallel: number }

export interface Deployment {
  model: string; gpu: string; backend: string; version: string; mode: string;
  /** Format of the weights' products; empty: the checkpoint's. */
  format: string;
  input_tokens: number; output_tokens: number;
  tensor_parallel: number; attention_data_parallel: number; expert_tensor_parallel: number; expert_parallel: number;
  /** Prefill and decode servers, where they are apart. */
  workers: readonly [Workers, Workers] | null;
  /** No constant was calibrated on it. */
  is_left_out: boolean;
}

export type Reason = string | Readonly<Record<string, string>>;

/** The file: columns by rows. */
export interface File {
  command: string; source: string; common: string; deployments: readonly Deployment[];
  rows: {
    deployment: readonly number[]; in_flight: readonly (number | null)[]; is_doubtful: readonly number[];
    ttft_ms: readonly number[]; tpot_ms: readonly number[];
    own_ttft_ms: readonly (number | null)[]; own_tpot_ms: readonly (number | null)[];
    aiconfigurator_ttft_ms: readonly (number | null)[]; aiconfigurator_tpot_ms: readonly (number | null)[];
    times: readonly (string | null)[]; reason: readonly (Reason | null)[]; link: readonly (string | null)[];
  };
}

/** Mean TTFT and mean TPOT, seconds. */
export interface Times { ttft: number; tpot: number }
export type Measure = keyof Times;

export interface Row {
  /** Its place in the file. */
  id: number;
  deployment: Deployment; in_flight: number | null;
  /** It repeats another row, or something is wrong with it. */
  is_doubtful: boolean;
  measured: Times; own: Times | null; aiconfigurator: Times | null;
  /** Where our iteration times come from. */
  times: string | null; reason: Reason | null;
  /** The address of its scenario. */
  link: string | null;
}

/** Requests in flight, from and to. */
export const IN_FLIGHT = [[1, 8], [9, 32], [33, 128], [129, 512], [513, Infinity]] as const;

export interface Filter {
  model: string; gpu: string; backend: string;
  /** A place in `IN_FLIGHT`; empty, as the others: all. */
  in_flight: string;
  /** Whether rows that repeat others or are suspect count. */
  doubtful: boolean;
  /** Whether only rows that both answer count. */
  both: boolean;
}

/** The engines whose scheduler is vLLM's here; of the second one only where prefill and decode are apart. */
const BORROWS = 'trtllm';
const BORROWS_APART = 'sglang';
export const FIRST: Filter = { model: '', gpu: '', backend: 'vllm', in_flight: '', doubtful: false, both: false };

/** The file lies beside the page; it is fetched when the tab is opened. */
export function fetchDeployments(): Promise<File> {
  return fetchJson('published/deployments.json') as Promise<File>;
}

export function rowsOf({ common, deployments, rows }: File): Row[] {
  const times = (ttft: number | null | undefined, tpot: number | null | undefined): Times | null =>
    ttft === null || ttft === undefined || tpot === null || tpot === undefined ? null : { ttft: ttft / 1e3, tpot: tpot / 1e3 };
  return rows.deployment.flatMap((place, id) => {
    const deployment = deployments[place];
    const measured = times(rows.ttft_ms[id], rows.tpot_ms[id]);
    if (deployment === undefined || measured === null) return [];
    const link = rows.link[id] ?? null;
    return [{
      id, deployment, measured, in_flight: rows.in_flight[id] ?? null, is_doubtful: rows.is_doubtful[id] === 1,
      own: times(rows.own_ttft_ms[id], rows.own_tpot_ms[id]),
      aiconfigurator: times(rows.aiconfigurator_ttft_ms[id], rows.aiconfigurator_tpot_ms[id]),
      times: rows.times[id] ?? null, reason: rows.reason[id] ?? null, link: link === null ? null : `${common}&${link}`,
    }];
  });
}

export function isBorrowed({ deployment }: Row): boolean {
  return deployment.backend === BORROWS || (deployment.backend === BORROWS_APART && deployment.workers !== null);
}

export function passes(filter: Filter, row: Row): boolean {
  const { model, gpu, backend, in_flight, doubtful } = filter;
  const { deployment } = row;
  const is = (wanted: string, value: string): boolean => wanted === '' || wanted === value;
  if (!is(model, deployment.model) || !is(gpu, deployment.gpu) || !is(backend, deployment.backend)) return false;
  if (row.is_doubtful && !doubtful) return false;
  const range = in_flight === '' ? undefined : IN_FLIGHT[Number(in_flight)];
  return range === undefined || (row.in_flight !== null && row.in_flight >= range[0] && row.in_flight <= range[1]);
}

/** The values of a property, sorted. */
export function valuesOf(rows: readonly Row[], of: 'model' | 'gpu' | 'backend' | 'mode'): string[] {
  return [...new Set(rows.map(({ deployment }) => deployment[of]))].sort((one, other) => one.localeCompare(other, 'en'));
}

/** How far predictions are off, as the core counts it. */
export type CountErrors = (predicted: Float64Array, measured: Float64Array) => RelativeErrors | null;

export interface Errors { ttft: RelativeErrors | null; tpot: RelativeErrors | null }

export interface Line { value: string; rows: number; own: Errors; aiconfigurator: Errors }

/** Lines of the table that have something in common. */
export interface Group { by: 'all' | 'half' | 'mode' | 'gpu' | 'model' | 'backend'; lines: Line[] }

/** What the halves of the rows are called: what constants may be calibrated on, what they may not, and rows under another engine's scheduler. */
export type Half = 'calibrated' | 'left_out' | 'borrowed';
export const HALVES: readonly Half[] = ['left_out', 'calibrated', 'borrowed'];

export function halfOf(row: Row): Half {
  if (isBorrowed(row)) return 'borrowed';
  return row.deployment.is_left_out ? 'left_out' : 'calibrated';
}

function errorsOf(rows: readonly Row[], of: 'own' | 'aiconfigurator', count: CountErrors): Errors {
  const answered = rows.flatMap(({ measured, [of]: predicted }) => (predicted === null ? [] : [{ measured, predicted }]));
  const one = (measure: Measure): RelativeErrors | null => count(
    Float64Array.from(answered, ({ predicted }) => predicted[measure]), Float64Array.from(answered, ({ measured }) => measured[measure]),
  );
  return { ttft: one('ttft'), tpot: one('tpot') };
}

/** The rows that pass, summed up; a property that all of them share is not listed. */
export function errorTable(passed: readonly Row[], { both }: Pick<Filter, 'both'>, count: CountErrors): Group[] {
  const line = (value: string, rows: readonly Row[]): Line => {
    const counted = both ? rows.filter(({ own, aiconfigurator }) => own !== null && aiconfigurator !== null) : rows;
    return { value, rows: rows.length, own: errorsOf(counted, 'own', count), aiconfigurator: errorsOf(counted, 'aiconfigurator', count) };
  };
  const parted = (by: Group['by'], values: readonly string[], of: (row: Row) => string): Group => ({
    by, lines: values.map((value) => [value, passed.filter((row) => of(row) === value)] as const).filter(([, rows]) => rows.length > 0).map(([value, rows]) => line(value, rows)),
  });
  const named = (by: 'mode' | 'gpu' | 'model' | 'backend'): Group => parted(by, valuesOf(passed, by), ({ deployment }) => deployment[by]);
  const parts = [parted('half', HALVES, halfOf), named('mode'), named('gpu'), named('model'), named('backend')];
  return [{ by: 'all', lines: [line('', passed)] }, ...parts.filter(({ by, lines }) => by === 'half' || lines.length > 1)];
}

/** Why rows are not answered, the commonest first. */
export function reasonsOf(passed: readonly Row[]): { reason: Reason; rows: number }[] {
  const counts = new Map<string, { reason: Reason; rows: number }>();
  for (const { reason } of passed) {
    if (reason === null) continue;
    const key = JSON.stringify(reason);
    counts.set(key, { reason, rows: (counts.get(key)?.rows ?? 0) + 1 });
  }
  return [...counts.values()].sort((one, other) => other.rows - one.rows);
}

/** Points that are drawn: the rows that are answered, deployment by deployment. */
export function answeredOf(passed: readonly Row[]): Row[] {
  return passed.filter(({ own }) => own !== null)
    .sort((one, other) => one.deployment.model.localeCompare(other.deployment.model, 'en') || one.deployment.gpu.localeCompare(other.deployment.gpu, 'en') || one.id - other.id);
}

export const ROLES: Readonly<Record<Half, string>> = { left_out: 'ttft', calibrated: 'waiting', borrowed: 'kv' };
const DIAGONAL = 'expected';
const PICKED = 'whole';

/** Predicted against measured: one range on both axes, so that the diagonal is where they agree. */
export function scatter(measure: Measure, answered: readonly Row[], picked: Row | null): ChartData {
  const own = (row: Row): number => row.own?.[measure] ?? NaN;
  const all = answered.flatMap((row) => [row.measured[measure], own(row)]);
  const [least, most] = [Math.min(...all) / 1.2, Math.max(...all) * 1.2];
  const axis: Axis = { unit: 's', scale: 'log', kind: 'value', min: least, max: most };
  const points = (role: string, rows: readonly Row[]): Series =>
    series(role, 'points', rows.map(({ measured }) => measured[measure]), rows.map(own), { id: Float64Array.from(rows, ({ id }) => id) });
  const halves = [...HALVES].reverse().map((half) => ({ half, rows: answered.filter((row) => halfOf(row) === half) })).filter(({ rows }) => rows.length > 0);
  const isDrawn = picked !== null && answered.includes(picked);
  return {
    name: `deployments_${measure}`, x: axis, y: axis, empty: answered.length === 0 ? 'empty' : '', categories: [],
    series: [
      series(DIAGONAL, 'line', [least, most], [least, most]),
      ...halves.map(({ half, rows }) => points(ROLES[half], rows)),
      ...(isDrawn ? [series(PICKED, 'rule_x', [picked.measured[measure]], []), series(PICKED, 'rule_y', [], [own(picked)])] : []),
    ],
  };
}
