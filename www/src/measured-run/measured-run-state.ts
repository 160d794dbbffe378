// A measured run that was opened: read by the studio's module, simulated and compared in a thread of the pool.
import type { App } from '../app/app.js';
import type { ChartFeed } from '../draw/chart-feed.js';
import type { ReadOut } from '../draw/read-out.js';
import { measuredRun as texts } from '../i18n/en/measured_run.js';
import { SHIPPED } from '../simulation/inputs.js';
import { sharedPool } from '../pool/shared-pool.js';
import type { Given } from '../pool/worker-pool.js';
import { messageOf, pageError, type ChartData, type Diagnostic, type OverlayReply, type ReadResult } from '../simulation/types.js';
import { Cancelled, Refusal } from '../simulation/worker-link.js';
import { Topic } from '../lib/topic.js';
import { StudioLink } from '../studio/studio-link.js';
import { measuredFiles } from '../state/measured-files.js';

/** Constants that one fit may move. */
export const MOST_CONSTANTS = 3;

export interface MeasuredRunAnswer {
  state: 'none' | 'running' | 'ready' | 'failed';
  names: readonly string[];
  fraction: number;
  reported: OverlayReply | null;
  errors: readonly Diagnostic[];
}

const NOTHING: MeasuredRunAnswer = { state: 'none', names: [], fraction: 0, reported: null, errors: [] };

export class MeasuredRunState {
  readonly answer = new Topic<MeasuredRunAnswer>(NOTHING);
  readonly charts = new Topic<ReadonlyMap<string, ChartData>>(new Map());
  /** Whether the settings in the controls override those of the file. */
  readonly ofControls = new Topic(false);
  /** Constants to fit. */
  readonly fit = new Topic<readonly string[]>([]);
  /** What the reader has said of the server where the file does not; it stands for further files too. */
  readonly said = new Topic<Readonly<Record<string, string>>>({});
  readonly feed: ChartFeed;
  readonly #desk = new StudioLink(() => undefined, () => undefined);
  #files: readonly File[] = [];
  #measured: ReadResult | null = null;
  #given: Given<OverlayReply> | null = null;

  constructor(readonly app: App) {
    const say = (key: string): string => app.text.find(texts, key) ?? key;
    const kind = (chart: string): string => (chart.endsWith('distribution') ? 'distribution' : chart.endsWith('requests') ? 'requests' : 'by_input');
    this.feed = {
      topic: () => this.charts,
      zooms: false,
      chart: (name) => this.charts.value.get(name),
      ghost: () => null,
      title: (name) => say(`chart.${name}`),
      about: (name) => say(`about.${kind(name)}`),
      role: (name, role) => say(`role.${kind(name)}.${role}`),
      xName: (name) => say(`across.${kind(name)}`),
      yName: (name) => say(`upwards.${kind(name)}`),
      point: (name, id) => this.#readOut(name, id),
    };
    const takeUp = (files: readonly File[]): void => {
      if (files.length === 0) return;
      measuredFiles.set([]);
      void this.open(files).then(() => { document.querySelector('measured-run-section')?.scrollIntoView({ block: 'start' }); });
    };
    measuredFiles.subscribe(takeUp);
    takeUp(measuredFiles.value);
  }

  /** Reads the files that were chosen together; a run's settings may lie in a file of their own. Of a file with several runs
      `benchmark` is the place of the one that is read, from 1 on; 0 is the first. */
  async open(files: readonly File[], benchmark = 0): Promise<void> {
    this.cancel();
    this.#measured = null;
    this.#files = files;
    this.fit.set([]);
    this.answer.set({ ...NOTHING, state: 'running', names: files.map(({ name }) => name) });
    try {
      this.#measured = await this.#desk.call('result', { files, benchmark });
      await this.run();
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  /** Reads another run of the same file. */
  async choose(benchmark: number): Promise<void> {
    await this.open(this.#files, benchmark);
  }

  /** Says what the file does not: the GPU, the model. */
  async say(settings: Record<string, string>): Promise<void> {
    this.said.set({ ...this.said.value, ...settings });
    await this.run();
  }

  /** Simulates the measured run, and fits what is chosen. */
  async run(): Promise<void> {
    this.cancel();
    if (this.#measured === null) return;
    const { app } = this;
    this.answer.update({ state: 'running', fraction: 0, errors: [] });
    const { 'fleet.gpu': gpu, 'fleet.model': model } = app.store.resolved.values;
    const scenario = { ...(this.ofControls.value ? { 'fleet.gpu': gpu, 'fleet.model': model, ...app.store.values.value } : {}), ...this.said.value };
    const given = sharedPool().give({ kind: 'overlay', measured: this.#measured, scenario, fit: this.fit.value }, {
      priority: 'asked', inputs: SHIPPED, progress: (fraction) => { this.answer.update({ fraction }); },
    });
    this.#given = given;
    try {
      const reported = await given.done;
      this.charts.set(new Map(reported.charts.map((chart) => [chart.name, chart])));
      this.answer.update({ state: 'ready', reported });
      app.scheduler.invalidateAll();
    } catch (thrown) {
      if (this.#given === given) this.#fail(thrown);
    }
  }

  cancel(): void {
    const given = this.#given;
    this.#given = null;
    given?.cancel();
    if (given !== null && this.answer.value.state === 'running') this.answer.update({ state: this.answer.value.reported === null ? 'none' : 'ready' });
  }

  #fail(thrown: unknown): void {
    if (thrown instanceof Cancelled) return;
    const errors = thrown instanceof Refusal ? thrown.errors : [pageError('bad_overlay', messageOf(thrown), '', { why: messageOf(thrown) })];
    this.answer.update({ state: 'failed', errors });
  }

  #readOut(name: string, id: number): ReadOut {
    const series = this.charts.value.get(name)?.series.find((one) => one.mark === 'points');
    const place = series?.id.indexOf(id) ?? -1;
    if (series === undefined || place < 0) return { at: '', rows: [] };
    const { text } = this.app;
    const say = text.say(texts);
    const [x = NaN, y = NaN] = [series.x[place], series.y[place]];
    const isByInput = name === 'ttft_error_by_input';
    const seconds = (value: number): string => text.format.seconds(value);
    return {
      at: say('request', { id }),
      rows: [
        { role: 'expected', label: say(isByInput ? 'across.by_input' : 'measured'), value: isByInput ? text.format.whole(x) : seconds(x) },
        { role: 'arrivals', label: say(isByInput ? 'upwards.by_input' : 'simulated'), value: isByInput ? `${y < 0 ? '−' : ''}${seconds(Math.abs(y))}` : seconds(y) },
      ],
    };
  }
}
