// The axes of a drawn chart hold what it is compared with, in the unit of the chart.
import { expect, it } from 'vitest';
import type { Axis, ChartData } from '../simulation/types.js';
import { drawnChart } from './drawn-chart.js';

function axis(max: number, unit = 'requests'): Axis {
  return { unit, scale: 'linear', kind: 'value', min: 0, max };
}

function chart(y: Axis): ChartData {
  return { name: 'running_waiting', x: { ...axis(300, 's'), kind: 'time' }, y, series: [], empty: '', categories: [] };
}

it('holds the former result, with ranges over seeds and without', () => {
  const former = chart(axis(117));
  expect(drawnChart(chart(axis(29)), undefined, former).y).toEqual(axis(117));
  expect(drawnChart(chart(axis(29)), chart(axis(32, '')), former).y).toEqual(axis(117));
});

it('holds the ranges over seeds, in the unit of the chart', () => {
  expect(drawnChart(chart(axis(29)), chart(axis(32, '')), null).y).toEqual(axis(32));
});

it('leaves its axis where the former result is in another unit', () => {
  expect(drawnChart(chart(axis(29)), undefined, chart(axis(117, 'tokens'))).y).toEqual(axis(29));
});
