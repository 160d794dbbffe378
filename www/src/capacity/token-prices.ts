// The published prices of tokens: deployments at their SLO capacity as the engine computed them, and their charts.
import { series } from '../draw/series.js';
import type { Axis, ChartData, PriceQuote, ScenarioPatch, Series } from '../simulation/types.js';
import { fetchJson } from '../state/presets.js';
import { gridText } from './grid.js';

export interface Deployment {
  /** Places in the file. */
  model: number; gpu: number;
  tensor_parallel: number;
  /** A value of `cost.kind`. */
  times: string;
  rate_rps: number; ttft_s: number; usd_per_million_tokens: number;
  ttft_error: number | null; rate_error: number | null;
}

export interface TokenPrices {
  command: string;
  common: { link: string; quantile: number; ttft_s: number; tpot_s: number; input_tokens: number; output_tokens: number };
  models: readonly { id: string; weights: string; name: string }[];
  gpus: readonly { id: string; name: string; price: PriceQuote | null }[];
  deployments: readonly Deployment[];
}

/** It lies beside the page. */
export function fetchTokenPrices(): Promise<TokenPrices> {
  return fetchJson('published/token-prices.json') as Promise<TokenPrices>;
}

/** What costs more than this many times the cheapest of its model would press all others together. */
export const MOST_TIMES = 20;

/** Colours that stand for nothing else, one for each GPU. */
const ROLES = ['client_0', 'client_1', 'client_2', 'client_3', 'client_4', 'client_5', 'client_6'];

export function roleOf(gpu: number): string {
  return ROLES[gpu] ?? '';
}

export function gpuOf(role: string): number {
  return ROLES.indexOf(role);
}

export function isDrawn({ deployments }: TokenPrices, { model, usd_per_million_tokens }: Deployment): boolean {
  const cheapest = Math.min(...deployments.filter((other) => other.model === model).map((other) => other.usd_per_million_tokens));
  return usd_per_million_tokens <= MOST_TIMES * cheapest;
}

/** From and to, where a value may be off by this share either way: alike on a logarithmic axis. */
export function rangeOf(value: number, error: number | null): [number, number] {
  const factor = 1 + (error ?? 0);
  return [value / factor, value * factor];
}

export function chartName(model: number): string {
  return `token_prices_${String(model)}`;
}

/** The cost against TTFT of a model's deployments. TTFT has one axis for all models: they have one SLO. */
export function chartOf(file: TokenPrices, model: number): ChartData {
  const drawn = file.deployments.flatMap((deployment, id) => (isDrawn(file, deployment) ? [{ ...deployment, id }] : []));
  const axis = (unit: string, values: readonly number[]): Axis => ({ unit, scale: 'log', kind: 'value', min: Math.min(...values) / 1.1, max: Math.max(...values) * 1.1 });
  const own = drawn.filter((one) => one.model === model);
  const times = drawn.flatMap((one) => rangeOf(one.ttft_s, one.ttft_error));
  const costs = own.flatMap((one) => rangeOf(one.usd_per_million_tokens, one.rate_error));
  const error = (role: string, x: readonly number[], y: readonly number[]): Series => series(role, 'line', x, y);
  return {
    name: chartName(model), x: axis('s', times), y: axis('USD', costs), empty: '', categories: [],
    series: file.gpus.flatMap((_, gpu) => {
      const of = own.filter((one) => one.gpu === gpu);
      const role = roleOf(gpu);
      if (of.length === 0) return [];
      return [
        ...of.flatMap(({ ttft_s, usd_per_million_tokens: usd, ttft_error, rate_error }) => [
          error(role, rangeOf(ttft_s, ttft_error), [usd, usd]), error(role, [ttft_s, ttft_s], rangeOf(usd, rate_error)),
        ]),
        series(role, 'points', of.map(({ ttft_s }) => ttft_s), of.map(({ usd_per_million_tokens: usd }) => usd), { id: Float64Array.from(of, ({ id }) => id) }),
      ];
    }),
  };
}

/** What a deployment has in place of one's own: the traffic and the SLO stay. */
export function hardwareOf(file: TokenPrices, { model, gpu, tensor_parallel, times }: Deployment): ScenarioPatch {
  return {
    'fleet.model': file.models[model]?.id ?? '', 'fleet.weights': file.models[model]?.weights ?? '', 'fleet.gpu': file.gpus[gpu]?.id ?? '',
    'fleet.tensor_parallel': tensor_parallel, 'cost.kind': times,
  };
}

/** The grid with that deployment alone. */
export function gridOf(file: TokenPrices, { gpu, tensor_parallel }: Deployment): string {
  return gridText([{ id: 'fleet.gpu', values: file.gpus[gpu]?.id ?? '' }, { id: 'fleet.tensor_parallel', values: String(tensor_parallel) }]);
}
