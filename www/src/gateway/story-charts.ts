// The charts of a story: each of both runs, one beside the other, on the same axes.
import type { App } from '../app/app.js';
import { serviceFeed, type ChartFeed } from '../draw/chart-feed.js';
import { FirstDifference } from '../compare/first-difference.js';
import { gateway } from '../i18n/en/gateway.js';
import { GATEWAY, gatewayFeed } from './gateway-feed.js';
import type { Axis, ChartData } from '../simulation/types.js';
import { both, Topic } from '../lib/topic.js';

export type Side = 'without' | 'with';
export const SIDES: readonly Side[] = ['without', 'with'];

/** What the chart of a side is called in the document. */
export function nameOf(chart: string, side: Side): string {
  return `story_${side}_${chart}`;
}

function partsOfName(name: string): { side: Side; chart: string } {
  const [, side, chart = name] = /^story_(without|with)_(.*)$/.exec(name) ?? [];
  return { side: side === 'with' ? 'with' : 'without', chart };
}

type Charts = ReadonlyMap<string, ChartData>;

export class StoryCharts {
  /** Which side the page shows, and the charts of either. */
  readonly #shown = new Topic<{ side: Side; own: Charts | null; other: readonly ChartData[] | null }>({ side: 'with', own: null, other: null });
  #feed: ChartFeed | undefined;

  readonly first: FirstDifference;

  constructor(private readonly app: App) {
    this.first = new FirstDifference(app);
    this.first.found.subscribe(() => { app.scheduler.invalidateAll(); });
  }

  show(side: Side, own: Charts | null, other: readonly ChartData[] | null): void {
    const before = this.#shown.value;
    if (before.side === side && before.own === own && before.other === other) return;
    this.#shown.set({ side, own, other });
    this.app.scheduler.invalidateAll();
  }

  feed(words: Record<Side, string>): ChartFeed {
    const { app } = this;
    const feeds = { service: serviceFeed(app), gateway: gatewayFeed(app) };
    const of = (chart: string): ChartFeed => (chart.startsWith(GATEWAY) ? feeds.gateway : feeds.service);
    const say = app.text.say(gateway);
    const feed: ChartFeed = {
      topic: (name) => both(this.#shown, feeds.service.topic(partsOfName(name).chart)),
      zooms: true,
      of: 'run',
      chart: (name) => this.#chart(name),
      ghost: () => null,
      mark: () => this.first.mark,
      title: (name) => {
        const { side, chart } = partsOfName(name);
        return say('story.chart', { chart: of(chart).title(chart), run: words[side] });
      },
      about: (name) => { const { chart } = partsOfName(name); return of(chart).about(chart); },
      role: (name, role) => { const { chart } = partsOfName(name); return of(chart).role(chart, role); },
      // A request of the run that the page does not show has no card.
      pick: (name, id) => { if (partsOfName(name).side === this.#shown.value.side) void app.select(id); },
    };
    return Object.assign((this.#feed ??= feed), feed);
  }

  #of(chart: string, side: Side): ChartData | undefined {
    const { side: shown, own, other } = this.#shown.value;
    return side === shown ? own?.get(chart) : other?.find(({ name }) => name === chart);
  }

  #chart(name: string): ChartData | undefined {
    const { side, chart } = partsOfName(name);
    const [own, beside] = [this.#of(chart, side), this.#of(chart, side === 'with' ? 'without' : 'with')];
    if (own === undefined || beside === undefined || own.empty !== '' || beside.empty !== '') return own;
    return { ...own, y: asHigh(own.y, beside.y) };
  }
}

function asHigh(axis: Axis, other: Axis): Axis {
  return axis.unit === other.unit && other.max > axis.max ? { ...axis, max: other.max } : axis;
}
