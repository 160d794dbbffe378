// What is typed as the terminal writes it, and the order of the runs.
import { describe, expect, it } from 'vitest';
import type { Parameter } from '../simulation/types.js';
import { axisOf, axisText, formOf, isMap, sweepOf, usualAxis, usualCurves, type Form } from './sweep-form.js';
import { numberOf } from './sweep-feed.js';
import { inTurns } from './sweep-state.js';

const row = (part: Partial<Parameter>): Parameter => ({ id: 'a.b', key: 'ab', group: 'g', type: 'number', unit: '', marks: [], options: [], names: [], default: 0, applies: [], changes: 'run', ...part });

describe('the form of a sweep', () => {
  it.each(['workload.rate_rps=1:8:4', 'workload.rate_rps=0.5:8:9:log', 'scheduler.order=fcfs,vtc', 'gateway.checks=none,rpm|tpm', 'workload.rate_rps=1', 'workload.adapters.ranks=8,8;64'])('reads and writes %s', (text) => {
    expect(axisText(axisOf(text))).toBe(text);
  });

  it('comes back from the sweep that it makes', () => {
    const form: Form = { x: axisOf('workload.arrivals.cv=0.5:8:5:log'), y: null, by: axisOf('scheduler.order=fcfs,vtc'), metrics: ['ttft_s.p99'], seeds: 3 };
    const sweep = sweepOf(form, 'v=4');
    expect(sweep.over).toEqual(['workload.arrivals.cv=0.5:8:5:log', 'scheduler.order=fcfs,vtc']);
    expect(formOf(sweep)).toEqual(form);
    expect(isMap(sweep)).toBe(false);
    const map: Form = { ...form, y: axisOf('workload.rate_rps=1:2:3') };
    expect(sweepOf(map, 'v=4').over).toEqual(['workload.arrivals.cv=0.5:8:5:log', 'workload.rate_rps=1:2:3', 'scheduler.order=fcfs,vtc']);
    expect(isMap(sweepOf(map, 'v=4'))).toBe(true);
    for (const one of [map, { ...map, by: null }, { ...form, by: null }]) expect(formOf(sweepOf(one, 'v=4'))).toEqual(one);
  });

  it('begins around the present value, within the bounds', () => {
    expect(axisText(usualAxis(row({ slider: { min: 0.1, max: 20, scale: 'log', step: 0.1 } }), 2))).toBe('a.b=1:4:8:log');
    expect(axisText(usualAxis(row({ max: 1, slider: { min: 0, max: 1, scale: 'linear', step: 0.1 } }), 0.8))).toBe('a.b=0.4:1:8');
    expect(axisText(usualAxis(row({ slider: { min: 0, max: 5, scale: 'linear', step: 0.1 } }), 0))).toBe('a.b=0:5:8');
    expect(axisText(usualAxis(row({ type: 'integer', min: 1, max: 64 }), 1))).toBe('a.b=1:2:8');
    expect(axisText(usualAxis(row({ type: 'choice', options: ['x', 'y'] }), NaN))).toBe('a.b=x,y');
    expect(axisText(usualCurves(row({ type: 'integer', max: 5 }), 2))).toBe('a.b=2,4');
    expect(axisText(usualCurves(row({ type: 'boolean' }), NaN))).toBe('a.b=false,true');
    expect(axisText(usualCurves(row({ type: 'text', id: 'gateway.checks' }), NaN))).toBe('gateway.checks=none,rpm|tpm|concurrency|queue,rpm|tpm|concurrency|queue|kv');
  });
});

describe('the runs of a sweep', () => {
  const over = [{ path: 'a', values: [1, 2, 3] }, { path: 'b', values: ['x', 'y'] }];
  const plan = { sweep: '', runs: 12, seeds: 2, over, metrics: [], bounds: [], expected: [], command: '' };

  it('come with the first seed of every point before the second of any', () => {
    const order = inTurns(plan);
    expect(order.slice(0, 6)).toEqual([0, 2, 4, 6, 8, 10]);
    expect([...order].sort((one, other) => one - other)).toEqual(Array.from({ length: 12 }, (_, index) => index));
  });

  it('are of numbered points, the last parameter first', () => {
    const number = (a: number, b: string): number => numberOf(plan, { point: { a, b }, metrics: {} });
    expect([number(1, 'x'), number(1, 'y'), number(2, 'x'), number(3, 'y')]).toEqual([0, 1, 2, 5]);
  });
});
