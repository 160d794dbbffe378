// A sweep of the page: its runs in the pool, those that are kept from before, and what all of them say so far.
import type { App } from '../app/app.js';
import type { ChartFeed } from '../draw/chart-feed.js';
import type { Inputs } from '../simulation/inputs.js';
import { inputsOf, sharedPool } from '../pool/shared-pool.js';
import type { Given } from '../pool/worker-pool.js';
import { sweep as words } from '../i18n/en/sweep.js';
import { ownProfile } from '../app/own-profile.js';
import { encodeLink, parseLink } from '../simulation/module.js';
import type { Diagnostic, SweepPlan, SweepResults, SweepSpec } from '../simulation/types.js';
import { Cancelled, Refusal } from '../simulation/worker-link.js';
import { sweepText } from '../state/address.js';
import { Topic } from '../lib/topic.js';
import { StudioLink } from '../studio/studio-link.js';
import { drawnOf, NOTHING_DRAWN, sweepFeed } from './sweep-feed.js';
import { formOf, isMap, sweepOf, usualAxis, type Form } from './sweep-form.js';
import { SweepStore } from './sweep-store.js';

/** How often the points of a running sweep are updated. */
const TELL_EVERY_MS = 300;
/** Runs that are with the pool: enough for every thread to find the next one. */
const IN_HAND = 16;
/** Refusals that are not the settings': another try may mend them. */
const PASSING: ReadonlySet<string> = new Set(['needs_table', 'missing_part', 'internal']);
const FIRST_PARAMETER = 'workload.rate_rps';
const FIRST_METRIC = 'ttft_s.p99';
const FIRST_SEEDS = 5;

export interface SweepAnswer {
  state: 'none' | 'running' | 'ready' | 'stopped' | 'failed';
  /** Finished runs, those of them that were kept from before, and how many there will be. */
  done: number;
  kept: number;
  all: number;
  /** Whether finished runs are kept. */
  keeps: boolean;
  plan: SweepPlan | null;
  results: SweepResults | null;
  /** The number of the point that was picked. */
  picked: number | null;
  /** Its run with the first seed, as the part of an address behind "#". */
  link: string;
  errors: readonly Diagnostic[];
}

const NOTHING: SweepAnswer = { state: 'none', done: 0, kept: 0, all: 0, keeps: true, plan: null, results: null, picked: null, link: '', errors: [] };

export class SweepState {
  readonly answer = new Topic<SweepAnswer>(NOTHING);
  readonly form: Topic<Form>;
  readonly drawn = new Topic(NOTHING_DRAWN);
  readonly feed: ChartFeed;
  /** Knows what the runs of a sweep are and what they say; the pool simulates them. */
  readonly #desk = new StudioLink(() => undefined, () => { this.#inputs = null; });
  /** What it got last. */
  #inputs: Inputs | null = null;
  #spec: SweepSpec | null = null;
  /** The lines of finished runs by number. */
  #lines = new Map<number, string>();
  /** Why points make no run, by number; of lines that were kept from before nothing is known but that they have none. */
  readonly #refusals = new Map<number, readonly Diagnostic[]>();
  #given = new Set<Given<unknown>>();
  #generation = 0;
  #telling: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly app: App) {
    this.form = new Topic(app.sweep.value === null ? this.#firstForm() : formOf(app.sweep.value));
    this.feed = sweepFeed(app, this.drawn, (point) => { void this.pick(point); });
    app.sweep.subscribe((sweep) => {
      if (sweep !== null) this.form.set(formOf(sweep));
      void this.begin();
    });
    for (const input of [app.traceFile.info, app.traceFile.missing, ownProfile]) input.subscribe(() => { void this.begin(); });
    void this.begin();
  }

  /** Sweeps the setting in the controls as the form says. */
  run(): void {
    const sweep = sweepOf(this.form.value, encodeLink(this.app.store.values.value));
    const { value } = this.app.sweep;
    if (value !== null && sweepText(value) === sweepText(sweep)) void this.begin();
    else this.app.sweep.set(sweep);
  }

  stop(): void {
    this.#letGo();
    this.answer.update({ state: 'stopped' });
    void this.#tell(this.#generation);
  }

  /** Picks a point, whose run can be opened. */
  async pick(point: number): Promise<void> {
    const { plan } = this.answer.value;
    if (plan === null || this.#spec === null) return;
    const { scenario } = await this.#desk.call('sweep_scenario', { spec: this.#spec, index: point * plan.seeds });
    this.answer.update({ picked: point, link: encodeLink(scenario) });
  }

  /** Why a point makes no run, in words. */
  whyNot(point: number): string {
    const { text } = this.app;
    const errors = this.#refusals.get(point) ?? [];
    return errors.length === 0 ? text.say(words)('cannot_run') : text.diagnostics(errors, (error) => this.app.named(error));
  }

  /** Finished runs as the terminal writes them, in their order. */
  lines(): string {
    return textOf([...this.#lines].sort(([one], [other]) => one - other).map(([, line]) => line));
  }

  /** The points so far as the terminal's CSV. */
  async csv(): Promise<string> {
    const { plan } = this.answer.value;
    return plan === null ? '' : await this.#desk.call('sweep_csv', { plan, lines: this.lines() });
  }

  /** Simulates what is missing of the sweep; nothing where there is none, or its file is not there. */
  async begin(): Promise<void> {
    this.#letGo();
    const generation = this.#generation;
    const { value: sweep } = this.app.sweep;
    this.#spec = null;
    if (sweep === null || this.app.traceFile.missing.value !== null) {
      this.#show(NOTHING, null);
      return;
    }
    const { scenario } = parseLink(sweep.link);
    const spec: SweepSpec = { scenario, over: sweep.over, metrics: sweep.metrics, seeds: sweep.seeds };
    this.answer.update({ state: 'running', done: 0, kept: 0, all: 0, picked: null, errors: [] });
    try {
      await this.#sweep(generation, spec, await inputsOf(this.app));
    } catch (thrown) {
      if (thrown instanceof Cancelled || generation !== this.#generation) return;
      if (!(thrown instanceof Refusal)) throw thrown;
      this.#letGo();
      this.answer.update({ state: 'failed', errors: thrown.errors });
    }
  }

  async #sweep(generation: number, spec: SweepSpec, inputs: Inputs): Promise<void> {
    if (this.#inputs !== inputs) await this.#desk.call('sweep_inputs', inputs);
    this.#inputs = inputs;
    const plan = await this.#desk.call('sweep_plan', { spec });
    const store = await SweepStore.open();
    const lines = await store?.lines(plan.sweep).catch(() => null) ?? null;
    if (generation !== this.#generation) return;
    const isSame = this.answer.value.plan?.sweep === plan.sweep;
    if (!isSame) this.#refusals.clear();
    const former = isSame ? this.#lines : [];
    this.#spec = spec;
    this.#lines = new Map([...former, ...(lines ?? [])]);
    this.#show({ ...this.answer.value, plan, done: this.#lines.size, kept: this.#lines.size, all: plan.runs, keeps: lines !== null }, null);
    if (this.#lines.size > 0) await this.#tell(generation);
    const left = inTurns(plan).filter((index) => !this.#lines.has(index));
    const next = async (): Promise<void> => {
      for (let index = left.shift(); index !== undefined && generation === this.#generation; index = left.shift()) {
        const line = await this.#line(spec, index, inputs);
        // A run that was stopped too late to be given up is kept as well.
        await store?.add(plan.sweep, index, line).catch(() => { if (generation === this.#generation) this.answer.update({ keeps: false }); });
        if (generation !== this.#generation) return;
        this.#lines.set(index, line);
        this.answer.update({ done: this.#lines.size });
        this.#telling ??= setTimeout(() => { void this.#tell(generation).finally(() => { this.#telling = undefined; }); }, TELL_EVERY_MS);
      }
    };
    await Promise.all(Array.from({ length: IN_HAND }, next));
    if (generation !== this.#generation) return;
    clearTimeout(this.#telling);
    await this.#tell(generation);
    if (generation === this.#generation) this.answer.update({ state: 'ready' });
  }

  /** Simulates a run. One whose settings make none has a line, too. */
  async #line(spec: SweepSpec, index: number, inputs: Inputs): Promise<string> {
    const { scenario } = await this.#desk.call('sweep_scenario', { spec, index });
    const seed = Number(scenario['seed'] ?? this.app.parameters.get('seed')?.default);
    const given = sharedPool().give({ kind: 'metrics', scenario, seed, metrics: spec.metrics }, { priority: 'asked', inputs });
    this.#given.add(given);
    try {
      return await this.#desk.call('sweep_line', { spec, index, shown: await given.done, why: '' });
    } catch (thrown) {
      if (!(thrown instanceof Refusal) || thrown.errors.some(({ code }) => PASSING.has(code))) throw thrown;
      this.#refusals.set(Math.floor(index / spec.seeds), thrown.errors);
      return await this.#desk.call('sweep_line', { spec, index, shown: null, why: thrown.message });
    } finally {
      this.#given.delete(given);
    }
  }

  #letGo(): void {
    this.#generation += 1;
    clearTimeout(this.#telling);
    this.#telling = undefined;
    for (const given of this.#given) given.cancel();
    this.#given.clear();
  }

  /** Publishes the result of the runs so far. */
  async #tell(generation: number): Promise<void> {
    const { plan } = this.answer.value;
    const { value: sweep } = this.app.sweep;
    if (plan === null || sweep === null) return;
    const results = await this.#desk.call('sweep_results', { plan, lines: textOf(this.#lines.values()), asMap: isMap(sweep) });
    if (generation === this.#generation) this.#show(this.answer.value, results);
  }

  #show(answer: SweepAnswer, results: SweepResults | null): void {
    this.drawn.set(drawnOf(answer.plan, results));
    this.answer.set({ ...answer, results });
    this.app.scheduler.invalidateNamed(new Set(this.drawn.value.charts.keys()));
  }

  #firstForm(): Form {
    const { app } = this;
    const parameter = app.parameters.get(FIRST_PARAMETER);
    if (parameter === undefined) throw new Error(`no parameter ${FIRST_PARAMETER}`);
    return { x: usualAxis(parameter, Number(app.store.resolved.values[FIRST_PARAMETER])), y: null, by: null, metrics: [FIRST_METRIC], seeds: FIRST_SEEDS };
  }
}

/** Every point with the first seed, then every point with the next: each pass is a whole, coarser picture. */
export function inTurns({ runs, seeds }: SweepPlan): number[] {
  return Array.from({ length: runs }, (_, place) => (place % (runs / seeds)) * seeds + Math.floor(place / (runs / seeds)));
}

function textOf(lines: Iterable<string>): string {
  return Array.from(lines, (line) => `${line}\n`).join('');
}
