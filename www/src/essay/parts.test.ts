// The clock of a figure, its bars, and which figure is looked at.
import { describe, expect, it } from 'vitest';
import { partsOfLongest } from './bars.js';
import { later, slowness } from './clock.js';
import { besideOf, firstChosen, givenOf, valuesOf, type Essay, type Figure } from './essay.js';
import { most } from './in-view.js';

const words = { en: 'x', zh: 'x' };
const figure: Figure = {
  id: 'one', title: words, text: words, set: { 'workload.rate_rps': 2 }, beside: { 'workload.rate_rps': 1 }, plays_s: 10, from_s: 0, span_s: 1, still_s: 1,
  controls: [
    { parameter: 'workload.rate_rps', label: words, range: { min: 1, max: 4, scale: 'linear', step: 1 } },
    { label: words, first: 1, cases: [{ name: words, set: { 'scheduler.order': 'fcfs' } }, { name: words, set: { 'scheduler.order': 'vtc' }, given: { tpot_s: 0.5 } }] },
  ],
};
const essay: Essay = { version: 5, title: words, about: words, scenario: { seed: 7, 'workload.rate_rps': 9 }, figures: [figure] };

describe('the settings of a figure', () => {
  it('are those of the essay, of the figure and of its controls, the last first', () => {
    const first = firstChosen(essay, figure);
    expect(first).toEqual([2, 1]);
    expect(valuesOf(essay, figure, first)).toEqual({ seed: 7, 'workload.rate_rps': 2, 'scheduler.order': 'vtc' });
    const moved = valuesOf(essay, figure, [3, 0]);
    expect(moved).toEqual({ seed: 7, 'workload.rate_rps': 3, 'scheduler.order': 'fcfs' });
    expect(besideOf(figure, moved)).toEqual({ seed: 7, 'workload.rate_rps': 1, 'scheduler.order': 'fcfs' });
  });

  it('are known by path, beside what a case brings along', () => {
    expect(givenOf(essay, figure, [3, 1])).toEqual({ seed: 7, workload: { rate_rps: 3 }, scheduler: { order: 'vtc' }, tpot_s: 0.5 });
  });
});

describe('the clock', () => {
  const run = { from_s: 1, end_s: 5, plays_s: 10 };

  it('goes on by its speed, rests at the end and begins again', () => {
    expect(later(2, 1, run)).toBe(2.5);
    expect(later(5, 1, run)).toBe(5.5);
    expect(later(5.5, 1, run)).toBe(1);
    expect(later(0, 1, { ...run, end_s: 0 })).toBe(1);
  });

  it('is slower or faster than the server', () => {
    expect(slowness(0.1, 10)).toBe(100);
    expect(slowness(20, 10)).toBe(0.5);
    expect(slowness(0, 10)).toBe(1);
  });
});

it('bars are parts of the longest, and what is not there is none', () => {
  expect(partsOfLongest([2, 1, null, 0])).toEqual([1, 0.5, 0, 0]);
  expect(partsOfLongest([1000, 0.001])[1]).toBeGreaterThan(0);
  expect(partsOfLongest([null])).toEqual([0]);
});

it('the figure with most of it in the middle is looked at, the first of several', () => {
  const [one, two] = [{} as Element, {} as Element];
  expect(most(new Map([[one, 0], [two, 0]]))).toBeNull();
  expect(most(new Map([[one, 10], [two, 300]]))).toBe(two);
  expect(most(new Map([[one, 300], [two, 300.5]]))).toBe(one);
});
