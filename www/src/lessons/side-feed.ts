// Two runs of the same requests side by side: charts of both on the same axes.
import type { App } from '../app/app.js';
import type { ChartFeed } from '../draw/chart-feed.js';
import type { FirstDifference } from '../compare/first-difference.js';
import { wholeFeed } from '../replicas/replicas-feed.js';
import type { BesideRun } from '../simulation/beside-run.js';
import type { ChartData } from '../simulation/types.js';
import { both } from '../lib/topic.js';
import type { Run } from './terms.js';

/** `hidden`: whether the main run is not shown yet; the other one then stands on its own axes, which would tell what comes. */
export function sideFeed(app: App, other: BesideRun, run: Run, first: FirstDifference, hidden: () => boolean): ChartFeed {
  const own = wholeFeed(app);
  const besides = (name: string): ChartData | undefined => other.shown.value?.answer?.charts.find((chart) => chart.name === name);
  return {
    ...own,
    topic: (name) => both(own.topic(name), other.shown, first.found),
    // A brush would zoom one of the two.
    zooms: false,
    readsOnHover: true,
    chart: (name) => {
      const [main, beside] = [hidden() ? undefined : own.chart(name), besides(name)];
      return run === 'main' ? onAxesOf(main, beside) : onAxesOf(beside, main);
    },
    ghost: () => null,
    mark: () => first.mark,
    band: () => undefined,
    // The card of a request is of the page's own run.
    pick: () => undefined,
  };
}

/** A chart on axes that have room for another one too. */
function onAxesOf(chart: ChartData | undefined, other: ChartData | undefined): ChartData | undefined {
  if (chart === undefined || other === undefined || chart.empty !== '' || other.empty !== '' || chart.x.kind === 'index') return chart;
  const x = { ...chart.x, min: Math.min(chart.x.min, other.x.min), max: Math.max(chart.x.max, other.x.max) };
  const y = { ...chart.y, min: Math.min(chart.y.min, other.y.min), max: Math.max(chart.y.max, other.y.max) };
  return { ...chart, x, y };
}
