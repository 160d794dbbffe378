import { describe, expect, it } from 'vitest';
import type { Axis, ChartData, PlotFrame, Series } from '../simulation/types.js';
import { barsAt, insideX, lastAtOrBefore, nearestPoint, pixelToX, reading, readings, timeAverage, xToPixel, yToPixel } from './plot.js';

const frame: PlotFrame = { left: 50, top: 10, right: 450, bottom: 110, x_min: 0, x_max: 100, y_min: 0, y_max: 10 };
const linear: Axis = { unit: 's', scale: 'linear', kind: 'time', min: 0, max: 100 };

function series(part: Partial<Record<'x' | 'y' | 'y0' | 'x2' | 'id', number[]>> & Pick<Series, 'mark'>): Series {
  const column = (name: 'x' | 'y' | 'y0' | 'x2' | 'id'): Float64Array => Float64Array.from(part[name] ?? []);
  return { role: 'served', mark: part.mark, label: '', x: column('x'), y: column('y'), y0: column('y0'), x2: column('x2'), id: column('id') };
}

function chart(...parts: Series[]): ChartData {
  return { name: 'rates', x: linear, y: { ...linear, kind: 'value' }, series: parts, empty: '', categories: [] };
}

describe('lanes', () => {
  const lanes = series({ mark: 'bars', x: [0, 10, 10, 40], x2: [20, 15, 60, 50], y: [0.4, 1.4, 2.4, 0.4], y0: [-0.4, 0.6, 1.6, -0.4] });

  it('are counted where they stand', () => {
    expect([0, 12, 15, 19, 45, 59, 60].map((x) => barsAt(lanes, x))).toEqual([1, 3, 2, 2, 2, 1, 0]);
  });

  it('are read as how many do the same', () => {
    expect(readings({ ...chart(lanes), y: { ...chart(lanes).y, kind: 'index' } }, 12)).toEqual([{ role: 'served', value: 3 }]);
  });
});

describe('pixels and values', () => {
  it('agree at the corners and in the middle', () => {
    expect(xToPixel(frame, linear, 0)).toBe(50);
    expect(xToPixel(frame, linear, 100)).toBe(450);
    expect(pixelToX(frame, linear, 250)).toBe(50);
    expect(yToPixel(frame, linear, 0)).toBe(110);
    expect(yToPixel(frame, linear, 10)).toBe(10);
  });

  it('are inverse on both scales', () => {
    const log: Axis = { ...linear, scale: 'log' };
    const logFrame = { ...frame, x_min: 0.01, x_max: 100 };
    for (const pixel of [50, 133, 250, 449]) {
      expect(xToPixel(frame, linear, pixelToX(frame, linear, pixel))).toBeCloseTo(pixel, 9);
      expect(xToPixel(logFrame, log, pixelToX(logFrame, log, pixel))).toBeCloseTo(pixel, 9);
    }
    expect(pixelToX(logFrame, log, 250)).toBeCloseTo(1, 9);
  });

  it('stop at the edges of the plot', () => {
    expect(pixelToX(frame, linear, 0)).toBe(0);
    expect(pixelToX(frame, linear, 999)).toBe(100);
    expect(insideX(frame, 100)).toBe(true);
    expect(insideX(frame, 100.1)).toBe(false);
  });
});

describe('reading', () => {
  it('finds the entry at or before', () => {
    const column = Float64Array.from([1, 2, 2, 5]);
    expect([0, 1, 2, 4.9, 9].map((x) => lastAtOrBefore(column, x))).toEqual([-1, 0, 2, 2, 3]);
    expect(lastAtOrBefore(new Float64Array(), 3)).toBe(-1);
  });

  it('keeps a step, slopes a line', () => {
    expect(reading(series({ mark: 'step', x: [0, 10], y: [4, 8] }), 5)).toBe(4);
    expect(reading(series({ mark: 'line', x: [0, 10], y: [4, 8] }), 5)).toBe(6);
    expect(reading(series({ mark: 'line', x: [0, 10], y: [4, 8] }), 20)).toBe(8);
    expect(reading(series({ mark: 'step', x: [3], y: [4] }), 2)).toBeNull();
  });

  it('gives a stacked area and bar their own height', () => {
    expect(reading(series({ mark: 'area', x: [0, 10], y: [6, 8], y0: [4, 4] }), 5)).toBe(3);
    const bars = series({ mark: 'bars', x: [0, 1], x2: [0.8, 1.8], y: [5, 9], y0: [2, 3] });
    expect(reading(bars, 1.2)).toBe(6);
    expect(reading(bars, 0.9)).toBeNull();
  });

  it('says where rules stand', () => {
    expect(reading(series({ mark: 'rule_y', y: [14_500] }), 3)).toBe(14_500);
    expect(reading(series({ mark: 'rule_x', x: [6] }), 3)).toBe(6);
  });

  it('leaves out what has no value there', () => {
    const both = chart(series({ mark: 'step', x: [0], y: [1] }), series({ mark: 'step', x: [50], y: [2] }));
    expect(readings(both, 10)).toEqual([{ role: 'served', value: 1 }]);
  });
});

describe('nearestPoint', () => {
  const points = chart(series({ mark: 'points', x: [10, 11, 90], y: [5, 9, 5], id: [7, 8, 9] }));

  it('takes the nearest within reach', () => {
    expect(nearestPoint(points, frame, xToPixel(frame, linear, 10), yToPixel(frame, linear, 5.2), 16)?.id).toBe(7);
    expect(nearestPoint(points, frame, xToPixel(frame, linear, 11), yToPixel(frame, linear, 8.5), 16)?.id).toBe(8);
    expect(nearestPoint(points, frame, xToPixel(frame, linear, 50), yToPixel(frame, linear, 5), 16)).toBeNull();
  });

  it('goes by time alone for the keyboard', () => {
    expect(nearestPoint(points, frame, xToPixel(frame, linear, 70), null, Infinity)?.id).toBe(9);
  });
});

describe('timeAverage', () => {
  it('weighs by time', () => {
    expect(timeAverage(series({ mark: 'step', x: [0, 1, 4], y: [8, 0, 99] }))).toBe(2);
    expect(timeAverage(series({ mark: 'step', x: [0], y: [8] }))).toBeNull();
  });
});
