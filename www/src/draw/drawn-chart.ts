// A chart as it is drawn: with the range of its curves behind it, on axes that hold what it is compared with.
import type { Axis, ChartData } from '../simulation/types.js';

export function drawnChart(chart: ChartData, band: ChartData | undefined, ghost: ChartData | null): ChartData {
  // A band has the chart's unit, which it does not name.
  const drawn = band === undefined ? chart
    : { ...chart, y: { ...chart.y, min: band.y.min, max: band.y.max }, series: [...band.series, ...chart.series] };
  if (ghost === null || ghost.empty !== '') return drawn;
  return { ...drawn, y: spanning(drawn.y, ghost.y), x: drawn.x.kind === 'value' ? spanning(drawn.x, ghost.x) : drawn.x };
}

/** The axis, as far as the other one reaches where both are of the same kind. */
function spanning(axis: Axis, other: Axis): Axis {
  if (axis.unit !== other.unit || axis.scale !== other.scale || (other.min >= axis.min && other.max <= axis.max)) return axis;
  return { ...axis, min: Math.min(axis.min, other.min), max: Math.max(axis.max, other.max) };
}
