// What the studio knows: its charts, kept up with the settings and the file. While the studio computes, newer wishes
// wait; only the newest of them is carried out.
import type { App } from '../app/app.js';
import type { ChartFeed } from '../draw/chart-feed.js';
import { Refusal } from '../simulation/worker-link.js';
import type { ChartData, Diagnostic, FitReply } from '../simulation/types.js';
import { chartMap } from '../state/session.js';
import { Topic } from '../lib/topic.js';
import { workload } from '../i18n/en/workload.js';

/** Columns of the time chart: about one a pixel of the widest. */
const COLUMNS = 600;

type Charts = ReadonlyMap<string, ChartData>;
const NONE: Charts = new Map();

export class WorkloadState {
  readonly charts = new Topic<Charts>(NONE);
  /** The source's charts, where steps changed it. */
  #before: Charts = NONE;
  readonly fit = new Topic<FitReply | null>(null);
  readonly fitting = new Topic<boolean>(false);
  readonly errors = new Topic<readonly Diagnostic[]>([]);
  readonly feed: ChartFeed;
  #wanted = false;
  #twin: { readonly model: string; readonly seed: number } | null = null;
  #working = false;

  constructor(readonly app: App) {
    this.feed = {
      topic: () => this.charts,
      zooms: false,
      of: 'traffic',
      chart: (name) => this.charts.value.get(name),
      ghost: (name) => this.#before.get(name) ?? null,
      title: (name) => this.#word(`chart.${name}`),
      about: (name) => this.#word(`chart.${name}.about`),
      role: (chart, role) => (chart === 'traffic_dispersion' && role === 'expected' ? this.#word('role.poisson') : app.text.named('role.', role)),
    };
    app.store.values.subscribe(() => { this.refresh(); });
    app.traceFile.info.subscribe(() => { this.refresh(); });
    app.view.subscribe(() => { this.#goOn(); });
    this.refresh();
  }

  #word(key: string): string {
    return this.app.text.find(workload, key) ?? key;
  }

  /** Brings the charts up to date; out of sight they may stay behind. */
  refresh(): void {
    this.#wanted = true;
    this.#goOn();
  }

  #goOn(): void {
    const { tab, source } = this.app.view.value;
    const wished = this.#wanted || this.#twin !== null;
    if (wished && !this.#working && tab === 'explore' && source) void this.#work();
  }

  async #work(): Promise<void> {
    this.#working = true;
    try {
      while (this.#wanted || this.#twin !== null) {
        try {
          await this.#look();
          this.errors.set([]);
        } catch (thrown) {
          this.#twin = null;
          if (thrown instanceof Refusal) this.errors.set(thrown.errors);
          else if (!(thrown instanceof Error && thrown.name === 'Cancelled')) throw thrown;
        }
      }
    } finally {
      this.#twin = null;
      this.#working = false;
      this.fitting.set(false);
    }
  }

  async #look(): Promise<void> {
    const studio = await this.app.traceFile.studio();
    const twin = this.#twin;
    const changed = this.#wanted;
    this.#wanted = false;
    await studio.call('select', { scenario: this.app.store.values.value });
    // What was fitted was other traffic.
    if (changed) this.fit.set(null);
    if (twin !== null) {
      const fit = await studio.call('fit', twin);
      // The traffic changed meanwhile: the twin is drawn again, of what it is now.
      if (this.#wanted) return;
      this.fit.set(fit);
      if (this.#twin === twin) this.#twin = null;
      this.fitting.set(this.#twin !== null);
    }
    const { charts, before } = await studio.call('charts', { columns: COLUMNS });
    this.#before = chartMap(before);
    this.charts.set(chartMap(charts));
    this.app.scheduler.invalidateAll();
  }

  /** Fits distributions to the traffic as it is and draws twins of it. */
  drawTwin(model: string, seed: number): void {
    this.#twin = { model, seed };
    this.fitting.set(true);
    this.#goOn();
  }
}
