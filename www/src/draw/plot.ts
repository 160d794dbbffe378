// Arithmetic between the pixels of a drawn chart and its data. The drawing returns the rectangle and the ranges; what
// lies under the pointer is computed from them, nothing is drawn again.
import type { Axis, ChartData, PlotFrame, Series } from '../simulation/types.js';

export interface Reading { role: string; value: number }

function fraction(value: number, min: number, max: number, scale: Axis['scale']): number {
  if (scale === 'log') return Math.log(value / min) / Math.log(max / min);
  return (value - min) / (max - min);
}

function valueAt(part: number, min: number, max: number, scale: Axis['scale']): number {
  if (scale === 'log') return min * Math.pow(max / min, part);
  return min + part * (max - min);
}

export function xToPixel(frame: PlotFrame, axis: Axis, x: number): number {
  return frame.left + fraction(x, frame.x_min, frame.x_max, axis.scale) * (frame.right - frame.left);
}

export function yToPixel(frame: PlotFrame, axis: Axis, y: number): number {
  return frame.bottom - fraction(y, frame.y_min, frame.y_max, axis.scale) * (frame.bottom - frame.top);
}

export function pixelToX(frame: PlotFrame, axis: Axis, pixel: number): number {
  const part = (pixel - frame.left) / (frame.right - frame.left);
  return valueAt(Math.min(1, Math.max(0, part)), frame.x_min, frame.x_max, axis.scale);
}

export function insideX(frame: PlotFrame, x: number): boolean {
  return x >= frame.x_min && x <= frame.x_max;
}

/** Index of the last entry of the ascending `column` that is <= `x`; -1 before the first. */
export function lastAtOrBefore(column: Float64Array, x: number): number {
  let low = 0;
  let high = column.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((column[middle] ?? Infinity) <= x) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** What `series` says at `x`; null where it says nothing. Stacked areas and bars give their own height. */
export function reading(series: Series, x: number): number | null {
  const { mark, x: xs, y: ys, y0, x2 } = series;
  if (mark === 'rule_x') return xs[0] ?? null;
  if (mark === 'rule_y') return ys[0] ?? null;
  const index = lastAtOrBefore(xs, x);
  const value = ys[index];
  if (value === undefined || !Number.isFinite(value)) return null;
  if (mark === 'points' || mark === 'band') return null;
  if (mark === 'bars') {
    const right = x2[index];
    return right !== undefined && x > right ? null : value - (y0[index] ?? 0);
  }
  const next = ys[index + 1];
  const [from, to] = [xs[index], xs[index + 1]];
  const own = value - (y0[index] ?? 0);
  if (mark === 'step' || next === undefined || from === undefined || to === undefined || to <= from) return own;
  const ahead = next - (y0[index + 1] ?? 0);
  return own + (ahead - own) * ((x - from) / (to - from));
}

/** How many bars stand over `x`: of rows, how many do this. */
export function barsAt({ x: xs, x2 }: Series, x: number): number {
  let count = 0;
  for (let index = lastAtOrBefore(xs, x); index >= 0; index -= 1) if ((x2[index] ?? 0) > x) count += 1;
  return count;
}

export function readings(chart: ChartData, x: number): Reading[] {
  if (chart.y.kind === 'index') return chart.series.map((series) => ({ role: series.role, value: barsAt(series, x) }));
  return chart.series.flatMap((series) => {
    const value = reading(series, x);
    return value === null ? [] : [{ role: series.role, value }];
  });
}

/** The request whose point lies nearest to a pixel, or the bar with a number that does, within `reach` pixels. */
export function nearestPoint(
  chart: ChartData, frame: PlotFrame, pixelX: number, pixelY: number | null, reach: number,
): { id: number; role: string; x: number; y: number } | null {
  let best: { id: number; role: string; x: number; y: number } | null = null;
  let nearest = reach;
  for (const series of chart.series) {
    const { mark, role, x: xs, y: ys, id: ids } = series;
    if (mark !== 'points' && mark !== 'bars') continue;
    for (let index = 0; index < xs.length; index += 1) {
      const [x, y, id] = [xs[index], ys[index], ids[index]];
      if (x === undefined || y === undefined || id === undefined) continue;
      const [right, low] = mark === 'bars' ? [series.x2[index] ?? x, series.y0[index] ?? 0] : [x, y];
      const dx = outside(xToPixel(frame, chart.x, x), xToPixel(frame, chart.x, right), pixelX);
      const dy = pixelY === null ? 0 : outside(yToPixel(frame, chart.y, y), yToPixel(frame, chart.y, low), pixelY);
      const distance = Math.hypot(dx, dy);
      if (distance < nearest) {
        nearest = distance;
        best = { id, role, x, y };
      }
    }
  }
  return best;
}

/** How far a place lies outside of what is between two others. */
function outside(from: number, to: number, place: number): number {
  return Math.max(from - place, place - to, 0);
}

/** Time average of a series over the run, for numbers that stand for the whole. */
export function timeAverage(series: Series): number | null {
  const { x, y, y0 } = series;
  let area = 0;
  let span = 0;
  for (let index = 0; index + 1 < x.length; index += 1) {
    const width = (x[index + 1] ?? 0) - (x[index] ?? 0);
    area += width * ((y[index] ?? 0) - (y0[index] ?? 0));
    span += width;
  }
  return span > 0 ? area / span : null;
}
