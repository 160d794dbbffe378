// The comparison of the first pinned setting (A) with the one in the controls (B): both over the same seeds, in the pool.
// Runs that were made already, of either, are not made again.
import type { App } from '../app/app.js';
import { USUAL } from '../generated/metrics.js';
import { compare } from '../i18n/en/compare.js';
import type { ChartFeed } from '../draw/chart-feed.js';
import { markOf } from './first-difference.js';
import type { Inputs } from '../simulation/inputs.js';
import { inputsOf, sharedPool } from '../pool/shared-pool.js';
import type { Given } from '../pool/worker-pool.js';
import { ownProfile } from '../app/own-profile.js';
import { encodeLink, parseLink, resolve } from '../simulation/module.js';
import { pageError, type ChartData, type ComparedPair, type Comparison, type Diagnostic, type MeasuredRun, type ScenarioPatch } from '../simulation/types.js';
import { Cancelled, Refusal } from '../simulation/worker-link.js';
import { MOST_PINS } from '../state/address.js';
import { chartMap } from '../state/session.js';
import { isMetric, memberOf } from './metric-words.js';
import { Topic } from '../lib/topic.js';

/** A drag goes on before this. */
const SETTLE_MS = 300;
/** How often the intervals of a running comparison are updated. */
const TELL_EVERY_MS = 250;
export const SEEDS = [10, 20, 50, 100] as const;
/** As the terminal's. */
const USUAL_SEEDS = 20;

export interface CompareAnswer {
  state: 'none' | 'running' | 'ready' | 'stopped' | 'failed';
  /** Runs of both, and how many there will be. */
  done: number;
  all: number;
  /** Seeds that the comparison is of. */
  seeds: number;
  comparison: Comparison | null;
  pair: ComparedPair | null;
  errors: readonly Diagnostic[];
}

const NOTHING: CompareAnswer = { state: 'none', done: 0, all: 0, seeds: 0, comparison: null, pair: null, errors: [] };

interface Charts { a: ReadonlyMap<string, ChartData>; b: ReadonlyMap<string, ChartData> }

export class CompareState {
  readonly answer = new Topic<CompareAnswer>(NOTHING);
  readonly charts = new Topic<Charts>({ a: new Map(), b: new Map() });
  readonly feed: ChartFeed;
  #given: Given<unknown>[] = [];
  #generation = 0;
  #settling: ReturnType<typeof setTimeout> | undefined;
  #telling: ReturnType<typeof setTimeout> | undefined;
  /** Runs by setting and seed, all with the same inputs. */
  #known = new Map<string, MeasuredRun>();
  #inputs: Inputs | null = null;

  constructor(readonly app: App) {
    this.feed = {
      topic: () => this.charts,
      zooms: false,
      of: 'run',
      chart: (name) => this.charts.value.b.get(name),
      ghost: (name) => this.charts.value.a.get(name) ?? null,
      title: (name) => app.text.find(compare, `chart.${name}`) ?? name,
      about: (name) => app.text.find(compare, `chart.${name}.about`) ?? name,
      role: (chart, role) => app.text.find(compare, `role.${chart}.${role}`) ?? app.text.named('role.', role),
      former: () => app.text.say(compare)('a'),
      mark: () => markOf(app, this.answer.value.pair?.first_difference ?? null),
    };
    const changed = (): void => { this.#changed(); };
    app.store.values.subscribe(changed);
    app.pins.subscribe(changed);
    app.metrics.subscribe(changed);
    app.traceFile.info.subscribe(changed);
    ownProfile.subscribe(changed);
    this.#changed();
  }

  /** Keeps the setting in the controls as A; those that were kept before stay behind it. */
  pin(name: string): void {
    const link = encodeLink(this.app.store.values.value);
    this.app.pins.set([{ name: nameOf(name), seeds: this.seeds, link }, ...this.app.pins.value].slice(0, MOST_PINS));
  }

  get seeds(): number {
    return this.app.pins.value[0]?.seeds ?? USUAL_SEEDS;
  }

  /** Metrics that are compared beside the usual ones: those of a link that do not exist are left out. */
  get extra(): readonly string[] {
    return this.app.metrics.value.filter((metric) => isMetric(metric) && !USUAL.some((usual) => usual === metric));
  }

  /** Sets the seeds of the comparison, which its link has. */
  take(seeds: number): void {
    this.app.pins.set(this.app.pins.value.map((pin) => ({ ...pin, seeds })));
  }

  rename(place: number, name: string): void {
    this.app.pins.set(this.app.pins.value.map((pin, at) => at === place ? { ...pin, name: nameOf(name) } : pin));
  }

  remove(place: number): void {
    this.app.pins.set(this.app.pins.value.filter((_, at) => at !== place));
  }

  /** Makes a pinned setting A. */
  choose(place: number): void {
    const { value } = this.app.pins;
    const chosen = value[place];
    if (chosen !== undefined) this.app.pins.set([chosen, ...value.filter((_, at) => at !== place)]);
  }

  /** A goes into the controls, and what was there becomes A. */
  swap(): void {
    const [a, ...others] = this.app.pins.value;
    if (a === undefined) return;
    const link = encodeLink(this.app.store.values.value);
    this.app.pins.set([{ ...a, link }, ...others]);
    this.app.editor.replace(parseLink(a.link).scenario, 'swap');
  }

  /** Sets these in A and in the controls. */
  takeBoth(settings: ScenarioPatch): void {
    const [a, ...others] = this.app.pins.value;
    if (a === undefined) return;
    const link = encodeLink({ ...parseLink(a.link).scenario, ...settings });
    this.app.pins.set([{ ...a, link }, ...others]);
    this.app.editor.replace({ ...this.app.store.values.value, ...settings }, 'compare');
  }

  /** Whether the iteration times of A or of B are of no particular GPU. */
  get isLinear(): boolean {
    const [a] = this.app.pins.value;
    const linear = (patch: ScenarioPatch): boolean => patch['cost.kind'] === 'linear';
    return a !== undefined && (linear(parseLink(a.link).scenario) || linear(this.app.store.values.value));
  }

  stop(): void {
    this.#letGo();
    this.answer.update({ state: 'stopped' });
  }

  #letGo(): void {
    this.#generation += 1;
    clearTimeout(this.#settling);
    clearTimeout(this.#telling);
    this.#telling = undefined;
    for (const given of this.#given) given.cancel();
    this.#given = [];
  }

  #changed(): void {
    this.#letGo();
    if (this.app.pins.value.length === 0) {
      this.answer.set(NOTHING);
      return;
    }
    this.answer.update({ state: 'running', done: 0 });
    this.#settling = setTimeout(() => { void this.run(); }, SETTLE_MS);
  }

  async run(): Promise<void> {
    this.#letGo();
    const generation = this.#generation;
    const [pinned] = this.app.pins.value;
    if (pinned === undefined) return;
    try {
      await this.#compare(generation, parseLink(pinned.link).scenario, this.app.store.values.value);
    } catch (thrown) {
      if (thrown instanceof Cancelled) return;
      if (!(thrown instanceof Refusal)) throw thrown;
      if (generation !== this.#generation) return;
      this.#letGo();
      this.answer.set({ ...NOTHING, state: 'failed', errors: thrown.errors });
    }
  }

  async #compare(generation: number, a: ScenarioPatch, b: ScenarioPatch): Promise<void> {
    const pool = sharedPool();
    const inputs = await inputsOf(this.app);
    if (generation !== this.#generation) return;
    if (this.#inputs !== inputs) this.#known.clear();
    this.#inputs = inputs;
    const ofFile = inputs.trace !== null;
    const seeds = await pool.ask({ kind: 'seeds', a, count: ofFile ? 1 : this.seeds });
    const first = seeds[0];
    if (generation !== this.#generation || first === undefined) return;
    const wrong = ofFile ? [] : this.#withoutMember(this.extra, [a, b]);
    const extra = this.extra.filter((metric) => !wrong.some(({ path }) => path === metric));
    this.answer.update({ state: 'running', done: 0, all: 2 * seeds.length, errors: wrong });
    const pair = pool.give({ kind: 'pair', a, b, seed: first }, { priority: 'asked', inputs });
    this.#given.push(pair);
    const [keyA, keyB] = [encodeLink(a), encodeLink(b)];
    const sides = [{ key: keyA, scenario: a }, { key: keyB, scenario: b }];
    const tell = (): Promise<void> => this.#tell(generation, seeds, keyA, keyB);
    const later = (): void => { this.#telling ??= setTimeout(() => { this.#telling = undefined; void tell().catch(() => undefined); }, TELL_EVERY_MS); };
    const both = pair.done.then((value) => {
      if (generation !== this.#generation) return;
      this.#known.set(`${keyA} ${String(first)}`, value.a).set(`${keyB} ${String(first)}`, value.b);
      this.charts.set({ a: chartMap(value.charts_a.map(ofBoth)), b: chartMap([...value.charts_b.map(ofBoth), ...value.charts]) });
      this.answer.update({ pair: value, ...(value.one_run === null ? {} : { comparison: value.one_run, seeds: 1 }) });
      this.app.scheduler.invalidateAll();
      later();
    });
    const others = seeds.slice(1).flatMap((seed) => sides.map(async ({ key, scenario }) => {
      const of = `${key} ${String(seed)}`;
      if (this.#known.has(of)) return;
      const given = pool.give({ kind: 'measure', scenario, seed }, { priority: 'asked', inputs });
      this.#given.push(given);
      const run = await given.done;
      if (generation !== this.#generation) return;
      this.#known.set(of, run);
      later();
    }));
    const more = (extra.length === 0 ? [] : seeds).flatMap((seed) => sides.map(async ({ key, scenario }) => {
      const of = extraKey(key, seed, extra);
      if (this.#known.has(of)) return;
      const given = pool.give({ kind: 'metrics', scenario, seed, metrics: extra }, { priority: 'asked', inputs });
      this.#given.push(given);
      const run = await given.done;
      if (generation === this.#generation) this.#known.set(of, run);
    }));
    await Promise.all([both, ...others, ...more]);
    if (generation !== this.#generation) return;
    clearTimeout(this.#telling);
    this.#telling = undefined;
    if (!ofFile) await tell();
    if (extra.length > 0) await this.#tellExtra(generation, seeds, sides.map(({ key }) => key), extra);
    if (generation === this.#generation) this.answer.update({ state: 'ready', done: 2 * seeds.length });
  }

  /** Metrics of a user or an adapter that neither A nor B has. */
  #withoutMember(metrics: readonly string[], sides: readonly ScenarioPatch[]): Diagnostic[] {
    const values = sides.map((side) => resolve(side).values);
    return metrics.flatMap((metric) => {
      const member = memberOf(metric);
      if (member === null) return [];
      const [parameter, code] = member.of === 'user' ? ['workload.users.count', 'no_such_user'] as const : ['workload.adapters.count', 'no_such_adapter'] as const;
      const count = Math.max(...values.map((one) => Number(one[parameter])));
      const index = Number(member.index);
      return index < count ? [] : [pageError(code, `${metric}: there is none`, metric, { index, count })];
    });
  }

  /** Publishes the metrics that are compared beside the usual ones. Of a file there is one run, and no interval. */
  async #tellExtra(generation: number, seeds: readonly number[], keys: readonly string[], extra: readonly string[]): Promise<void> {
    const [a = [], b = []] = keys.map((key) => seeds.flatMap((seed) => this.#known.get(extraKey(key, seed, extra)) ?? []));
    const more = await sharedPool().ask({ kind: 'comparison', seeds, a, b });
    if (generation !== this.#generation) return;
    const ofFile = this.#inputs?.trace !== null;
    const rows = Object.fromEntries(Object.entries(more).map(([path, row]) => [path, ofFile ? { ...row, no_batches: 'not_of_requests' as const } : row]));
    this.answer.update({ comparison: { ...this.answer.value.comparison, ...rows } });
  }

  /** Publishes the result of the seeds whose two runs have ended. */
  async #tell(generation: number, seeds: readonly number[], keyA: string, keyB: string): Promise<void> {
    const runs = seeds.map((seed) => ({ seed, a: this.#known.get(`${keyA} ${String(seed)}`), b: this.#known.get(`${keyB} ${String(seed)}`) }));
    const there = runs.flatMap(({ seed, a, b }) => a === undefined || b === undefined ? [] : [{ seed, a, b }]);
    const done = runs.reduce((sum, { a, b }) => sum + Number(a !== undefined) + Number(b !== undefined), 0);
    if (this.#inputs?.trace !== null || there.length === 0) return;
    const comparison = await sharedPool().ask({ kind: 'comparison', seeds: there.map(({ seed }) => seed), a: there.map(({ a }) => a), b: there.map(({ b }) => b) });
    if (generation === this.#generation) this.answer.update({ comparison, done, seeds: there.length });
  }
}

/** Where the runs of a side are kept whose further metrics were measured. */
function extraKey(key: string, seed: number, extra: readonly string[]): string {
  return `${key} ${String(seed)} ${extra.join()}`;
}

/** The run's own chart is on the page, too. */
function ofBoth(chart: ChartData): ChartData {
  return { ...chart, name: `compare_${chart.name}` };
}

/** The address ends a name with a semicolon. */
function nameOf(text: string): string {
  return text.replaceAll(';', ',').trim().slice(0, 60);
}
