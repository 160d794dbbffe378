// VTC's recorded runs as the terminal wrote them down, and their charts.
import { series } from '../draw/series.js';
import { fetchJson } from '../state/presets.js';
import type { Axis, ChartData, Series } from '../simulation/types.js';

export interface Measured {
  tokens_per_s: number; client_tokens_per_s: number[]; rejected: number; first_token_s: (number | null)[];
  gaps: number[]; service_gap: number; table_gap: [number, number];
}

export interface Run {
  scheduler: string; workload: string; requests: number; gpu: string; pool_tokens: number;
  settles: boolean; beyond: { batch: number; covered: number } | null; within: boolean;
  /** Pairs of clients in the recorded order, and all pairs whose recorded means lie apart. */
  ordered: [number, number];
  gap_bound: number | null; fcfs_gap: number; digest: string; link: string | null;
  ticks_s: number[]; recorded: Measured; ours: Measured;
}

export interface Recordings { command: string; source: string; bounds: { tokens: number; rejected: number }; runs: Run[] }

/** The file lies beside the page; it is as much a part of it as its scripts. */
export function fetchRecordings(): Promise<Recordings> {
  return fetchJson('published/vtc.json') as Promise<Recordings>;
}

/** Names in the file begin with the one of the artifact's scheduler: `LShare__rpm10`. */
export function rpmLimit({ scheduler }: Run): number | null {
  const limit = /^LShare__rpm(\d+)$/.exec(scheduler)?.[1];
  return limit === undefined ? null : Number(limit);
}

const RECORDED = 'expected';
/** Bars in ink would outweigh ours. */
const RECORDED_BARS = 'host';
/** Width of a bar, of the place of two. */
const BAR = 0.38;

function upward(unit: string, all: readonly Series[]): Axis {
  const top = Math.max(0, ...all.flatMap(({ y }) => [...y]));
  return { unit, scale: 'linear', kind: 'value', min: 0, max: top > 0 ? top * 1.06 : 1 };
}

function chart(name: string, x: Axis, unit: string, all: Series[], categories: string[] = []): ChartData {
  return { name, x, y: upward(unit, all), series: all, empty: '', categories };
}

/** What a limit of requests a minute refuses and lets through, as recorded and as simulated. */
export function rpmCharts(runs: readonly Run[]): ChartData[] {
  const limited = runs.map((run, place) => ({ run, place, limit: rpmLimit(run) }))
    .filter((entry): entry is { run: Run; place: number; limit: number } => entry.limit !== null)
    .sort((one, other) => one.limit - other.limit);
  const limits = limited.map(({ limit }) => limit);
  const x: Axis = { unit: '', scale: 'linear', kind: 'value', min: 0, max: Math.max(1, ...limits) * 1.04 };
  const id = Float64Array.from(limited, ({ place }) => place);
  const of = (name: string, role: string, unit: string, value: (measured: Measured) => number): ChartData => chart(name, x, unit, [
    series(role, 'line', limits, limited.map(({ run }) => value(run.ours))),
    series(RECORDED, 'points', limits, limited.map(({ run }) => value(run.recorded)), { id }),
  ]);
  return [
    of('checked_rpm_rejected', 'refused', 'requests', ({ rejected }) => rejected),
    of('checked_rpm_throughput', 'served', 'tokens/s', ({ tokens_per_s }) => tokens_per_s),
  ];
}

/** Client by client, and the gap between the best and the worst served over time. */
export function runCharts(run: Run, client: (number: number) => string): ChartData[] {
  const clients = run.recorded.first_token_s.map((_, place) => place);
  const axis: Axis = { unit: '', scale: 'linear', kind: 'index', min: -0.5, max: clients.length - 0.5 };
  const names = clients.map((place) => client(place + 1));
  const of = (name: string, role: string, unit: string, value: (measured: Measured) => readonly (number | null)[]): ChartData => {
    const known = (measured: Measured): { place: number; height: number }[] =>
      value(measured).flatMap((height, place) => (height === null ? [] : [{ place, height }]));
    const [ours, theirs] = [known(run.ours), known(run.recorded)];
    const bars = (of: string, all: typeof ours, from: number): Series => series(of, 'bars', all.map(({ place }) => place + from), all.map(({ height }) => height),
      { x2: Float64Array.from(all, ({ place }) => place + from + BAR) });
    return chart(name, axis, unit, [
      bars(role, ours, 0), bars(RECORDED_BARS, theirs, -BAR),
    ], names);
  };
  const { ticks_s } = run;
  const time: Axis = { unit: 's', scale: 'linear', kind: 'value', min: 0, max: (ticks_s.at(-1) ?? 1) * 1.04 };
  const bound = run.gap_bound === null ? [] : [series('slo', 'rule_y', [], [run.gap_bound])];
  return [
    of('checked_run_first_token', 'ttft', 's', ({ first_token_s }) => first_token_s),
    of('checked_run_tokens', 'served', 'tokens/s', ({ client_tokens_per_s }) => client_tokens_per_s),
    chart('checked_run_gap', time, 'tokens', [
      series('served', 'line', ticks_s, run.ours.gaps), ...bound, series(RECORDED, 'points', ticks_s, run.recorded.gaps),
    ]),
  ];
}
