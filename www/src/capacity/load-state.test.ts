// What a run says of the load before a search has found it.
import { expect, it } from 'vitest';
import type { Summary } from '../simulation/types.js';
import { estimateOf } from './load-state.js';

const TIMES = { mean: 1, p50: 1, p90: 2, p95: 3, p99: 4, max: 5 };
const VALUES = { 'capacity.queue_s': 5, 'capacity.queue_quantile': 0.99, 'capacity.quantile': 0.99, 'capacity.ttft_s': 0, 'capacity.tbt_s': 0, 'capacity.tpot_s': 0, 'capacity.e2e_s': 0 };

function summary(busy: number | null, codes: string[] = []): Summary {
  const times = { ttft_s: TIMES, tbt_s: TIMES, e2e_s: TIMES, queue_s: TIMES, tpot_s: TIMES };
  return { ...times, gpu: { busy, mfu: null, bandwidth: null }, warnings: codes.map((code) => ({ code })) } as unknown as Summary;
}

it('takes the busy share where the run meets the goal', () => {
  expect(estimateOf(summary(0.4), VALUES)).toEqual({ sign: '≈', share: 0.4 });
  expect(estimateOf(summary(null), VALUES)).toBeNull();
});

it('says 100 % or more where the run misses a bound that is set, or more arrives than can be served', () => {
  const full = { sign: '≥', share: 1 };
  expect(estimateOf(summary(0.4), { ...VALUES, 'capacity.queue_s': 3.5 })).toEqual(full);
  expect(estimateOf(summary(0.4), { ...VALUES, 'capacity.queue_s': 3.5, 'capacity.queue_quantile': 0.95 })).toEqual({ sign: '≈', share: 0.4 });
  expect(estimateOf(summary(0.4), { ...VALUES, 'capacity.e2e_s': 2 })).toEqual(full);
  expect(estimateOf(summary(0.9, ['overloaded']), VALUES)).toEqual(full);
});
