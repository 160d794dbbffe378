// A chart on the page, as its tools, its overlay and the pointer see it.
import type { App, Cursor } from '../app/app.js';
import type { ChartData, PlotFrame } from '../simulation/types.js';
import type { ChartFeed } from './chart-feed.js';
import type { Topic } from '../lib/topic.js';

export interface ShownChart extends HTMLElement {
  readonly app: App;
  readonly name: string;
  readonly source: ChartFeed;
  /** The clock that it shares with other time charts. */
  readonly clock: Topic<Cursor | null>;
  readonly chart: ChartData | undefined;
  readonly ghost: ChartData | null;
  /** The range of its curves over further seeds. */
  readonly band: ChartData | undefined;
  /** As it is drawn: with its band behind it, on axes that hold what it is compared with. */
  readonly drawn: ChartData | undefined;
  readonly frame: PlotFrame | null;
  /** Where it is drawn. */
  readonly place: HTMLElement;
  readonly idOf: string;
  /** The point that is read out, by its request. */
  near: { id: number; role: string; x: number; y: number } | null;
  tableOpen: boolean;
  aboutOpen: boolean;
  resetZoom(): void;
}
