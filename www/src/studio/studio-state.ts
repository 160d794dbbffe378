// What the studio knows: its charts, kept up with the settings and the file. While the studio computes, newer wishes
// wait; only the newest of them is carried out.
import type { App } from '../app.js';
import type { ChartFeed } from '../draw/chart-feed.js';
import { Refusal } from '../engine/client.js';
import type { ChartData, Failure } from '../engine/types.js';
import { chartMap } from '../state/session.js';
import { Topic } from '../state/topic.js';
import { isWord, wordsOf } from './words.js';

/** Columns of the time chart: about one a pixel of the widest. */
const COLUMNS = 600;

type Charts = ReadonlyMap<string, ChartData>;
const NONE: Charts = new Map();

export class StudioState {
  readonly charts = new Topic<Charts>(NONE);
  readonly failures = new Topic<readonly Failure[]>([]);
  readonly feed: ChartFeed;
  #wanted = false;
  #working = false;

  constructor(readonly app: App) {
    this.feed = {
      topic: this.charts,
      zooms: false,
      chart: (name) => this.charts.value.get(name),
      ghost: () => null,
      title: (name) => this.#word(`chart.${name}`),
      about: (name) => this.#word(`chart.${name}.about`),
      role: (chart, role) => (chart === 'traffic_dispersion' && role === 'expected' ? this.#word('role.poisson') : app.text.named('role.', role)),
    };
    app.store.values.subscribe(() => { this.refresh(); });
    app.traceFile.info.subscribe(() => { this.refresh(); });
    app.view.subscribe(() => { this.refresh(); });
    this.refresh();
  }

  #word(key: string): string {
    return isWord(key) ? wordsOf(this.app)(key) : key;
  }

  /** Brings the charts up to date; out of sight they may stay behind. */
  refresh(): void {
    this.#wanted = true;
    if (!this.#working && this.app.view.value.tab === 'workload') void this.#work();
  }

  async #work(): Promise<void> {
    this.#working = true;
    while (this.#wanted) {
      this.#wanted = false;
      try {
        await this.#look();
        this.failures.set([]);
      } catch (thrown) {
        if (thrown instanceof Refusal) this.failures.set(thrown.failures);
        else if (!(thrown instanceof Error && thrown.name === 'Cancelled')) throw thrown;
      }
    }
    this.#working = false;
  }

  async #look(): Promise<void> {
    const studio = await this.app.traceFile.studio();
    await studio.call('look', { scenario: this.app.store.values.value });
    this.charts.set(chartMap(await studio.call('charts', { columns: COLUMNS })));
    this.app.scheduler.invalidateAll();
  }
}
