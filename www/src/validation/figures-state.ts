// What the page knows of the published results: figures as they are simulated, and the recordings as they were written down.
import type { App } from '../app/app.js';
import type { ChartFeed } from '../draw/chart-feed.js';
import { messageOf, type ChartData, type PublishedFigure } from '../simulation/types.js';
import { start } from '../simulation/start.js';
import { Refusal, WorkerLink } from '../simulation/worker-link.js';
import { chartMap } from '../state/session.js';
import { Topic } from '../lib/topic.js';
import { SWEEPS, type Figures, type Suite, type Sweep } from './figures-calls.js';
import { fetchRecordings, rpmCharts, runCharts, type Recordings, type Run } from './recordings.js';
import { validation } from '../i18n/en/validation.js';

export interface Shown {
  suite: Suite;
  /** Figures of the suite, sweep by sweep as they come. */
  figures: ReadonlyMap<Sweep, readonly PublishedFigure[]>;
  failure: string;
}

/** The run that is shown first: the plainest of the paper's comparisons. */
const FIRST = { scheduler: 'VTC', workload: 'overload' };

/** Charts of recordings; the others are of the suite. */
const STORED = /^checked_(rpm|run)_/;
const SWEPT = /^checked_(n|rate|cv|alpha)_(throughput|e2e|first_token|attainment)$/;

export class FiguresState {
  readonly shown = new Topic<Shown>({ suite: 'S2', figures: new Map(), failure: '' });
  readonly recordings = new Topic<Recordings | null>(null);
  readonly run = new Topic<Run | null>(null);
  readonly charts = new Topic<ReadonlyMap<string, ChartData>>(new Map());
  readonly feed: ChartFeed;
  readonly #link = new WorkerLink(
    () => new Worker(new URL('./figures-worker.ts', import.meta.url), { type: 'module' }), { first: () => [start()] },
  );
  #language: string;

  constructor(readonly app: App) {
    this.#language = app.text.language;
    this.feed = {
      topic: () => this.charts,
      zooms: false,
      chart: (name) => this.charts.value.get(name),
      ghost: () => null,
      title: (name) => this.#named('chart', name),
      about: (name) => this.#named('about', name),
      role: (chart, role) => this.#role(chart, role),
      pick: (chart, id) => { this.#open(chart, id); },
    };
    this.run.subscribe(() => { this.#drawRun(); });
    app.settings.subscribe(() => {
      if (app.text.language === this.#language) return;
      this.#language = app.text.language;
      this.#drawRun();
    });
    this.choose('S2');
    void this.#read();
  }

  choose(suite: Suite): void {
    this.shown.set({ suite, figures: new Map(), failure: '' });
    for (const sweep of SWEEPS) void this.#sweep(suite, sweep);
  }

  /** Takes a scenario over, as a link to it would. */
  open(link: string): void {
    this.app.followed();
    location.hash = link;
  }

  figure(chart: string): PublishedFigure | undefined {
    return [...this.shown.value.figures.values()].flat().find((figure) => chartName(figure) === chart);
  }

  async #sweep(suite: Suite, sweep: Sweep): Promise<void> {
    const isShown = (): boolean => this.shown.value.suite === suite;
    try {
      const { figures, charts } = await (this.#link.ask({ kind: 'sweep', suite, sweep }) as Promise<Figures>);
      if (!isShown()) return;
      this.#draw(charts);
      this.shown.update({ figures: new Map(this.shown.value.figures).set(sweep, figures) });
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown;
      if (isShown()) this.shown.update({ failure: this.app.text.diagnostics(thrown.errors) });
    }
  }

  async #read(): Promise<void> {
    try {
      const recordings = await fetchRecordings();
      this.recordings.set(recordings);
      this.#draw(rpmCharts(recordings.runs));
      const first = recordings.runs.find(({ scheduler, workload }) => scheduler === FIRST.scheduler && workload === FIRST.workload);
      this.run.set(first ?? recordings.runs[0] ?? null);
    } catch (thrown) {
      this.shown.update({ failure: messageOf(thrown) });
    }
  }

  #drawRun(): void {
    const run = this.run.value;
    const say = this.app.text.say(validation);
    if (run !== null) this.#draw(runCharts(run, (number) => say('client', { number })));
  }

  #draw(charts: readonly ChartData[]): void {
    this.charts.set(new Map([...this.charts.value, ...chartMap(charts)]));
    this.app.scheduler.invalidateAll();
  }

  #open(chart: string, id: number): void {
    const link = STORED.test(chart) ? this.recordings.value?.runs[id]?.link : this.figure(chart)?.points[id]?.link;
    if (link !== undefined && link !== null) this.open(link);
  }

  #word(key: string): string {
    return this.app.text.find(validation, key) ?? key;
  }

  /** Names of charts are put together of what was swept and of the measure. */
  #named(kind: 'chart' | 'about', chart: string): string {
    const [, against, measure] = SWEPT.exec(chart) ?? [];
    if (against === undefined || measure === undefined) return this.#word(kind === 'chart' ? `chart.${chart}` : `about.${chart}`);
    if (kind === 'about') return this.#word(`about.${measure}`);
    return this.app.text.say(validation)('chart.of', { measure: this.#word(`measure.${measure}`), against: this.#word(`against.${against}`) });
  }

  #role(chart: string, role: string): string {
    const own = `role.${chart}.${role}`;
    const text = this.app.text.find(validation, own);
    if (text !== undefined) return text;
    if (role === 'host') return this.#word('role.expected');
    if (role === 'expected' || role === 'plain_twin' || role === 'slo') return this.#word(`role.${role}`);
    const isOneRun = !STORED.test(chart) && this.shown.value.suite === 'S4';
    return this.#word(isOneRun ? 'role.ours.one_run' : 'role.ours');
  }
}

const SWEEP_NAMES: Readonly<Record<string, string>> = { R: 'rate' };

export function chartName({ sweep, measure }: Pick<PublishedFigure, 'sweep' | 'measure'>): string {
  return `checked_${SWEEP_NAMES[sweep] ?? sweep}_${measure}`;
}
