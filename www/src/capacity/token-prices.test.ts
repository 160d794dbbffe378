// The charts of the published token prices.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { chartOf, gpuOf, gridOf, hardwareOf, isDrawn, MOST_TIMES, rangeOf, roleOf, type TokenPrices } from './token-prices.js';

const FILE = JSON.parse(readFileSync(new URL('../../../static/published/token-prices.json', import.meta.url), 'utf8')) as TokenPrices;

it('draws each deployment once, with its error on both axes, unless it costs far more than the cheapest', () => {
  for (const model of FILE.models.keys()) {
    const own = FILE.deployments.filter((deployment) => deployment.model === model);
    const { series, x, y } = chartOf(FILE, model);
    const points = series.filter(({ mark }) => mark === 'points');
    const drawn = own.filter((deployment) => isDrawn(FILE, deployment));
    const ids = points.flatMap(({ id }) => [...id]);
    expect(new Set(ids)).toEqual(new Set(drawn.map((deployment) => FILE.deployments.indexOf(deployment))));
    expect(series.filter(({ mark }) => mark === 'line')).toHaveLength(2 * drawn.length);
    for (const { x: xs, y: ys } of series) {
      expect(Math.min(...xs) >= x.min && Math.max(...xs) <= x.max && Math.min(...ys) >= y.min && Math.max(...ys) <= y.max).toBe(true);
    }
    const cheapest = Math.min(...own.map(({ usd_per_million_tokens: usd }) => usd));
    expect(drawn.every(({ usd_per_million_tokens: usd }) => usd <= MOST_TIMES * cheapest)).toBe(true);
  }
});

it('has a colour for each GPU, and an error that is a factor either way', () => {
  for (const gpu of FILE.gpus.keys()) expect(gpuOf(roleOf(gpu))).toBe(gpu);
  expect(rangeOf(2, 0.25)).toEqual([1.6, 2.5]);
  expect(rangeOf(2, null)).toEqual([2, 2]);
});

it('opens a deployment by its model, GPU and degree', () => {
  const [first] = FILE.deployments;
  if (first === undefined) throw new Error('the file is empty');
  expect(hardwareOf(FILE, first)).toEqual({ 'fleet.model': 'qwen3-8b', 'fleet.weights': 'bf16', 'fleet.gpu': 'h100_sxm', 'fleet.tensor_parallel': 1, 'cost.kind': 'kernels' });
  expect(gridOf(FILE, first)).toBe('fleet.gpu=h100_sxm|fleet.tensor_parallel=1');
});
