// Where the better of A and B changes over a parameter: steps of the search come from the studio's module, their runs are
// simulated in the pool with the same seeds.
import type { App } from '../app/app.js';
import type { ChartFeed } from '../draw/chart-feed.js';
import { crossover as words } from '../i18n/en/crossover.js';
import { inputsOf, sharedPool } from '../pool/shared-pool.js';
import type { Given } from '../pool/worker-pool.js';
import { parseLink } from '../simulation/module.js';
import type { ChartData, Diagnostic, ScenarioPatch, CrossoverFound, CrossoverKnown, CrossoverSpec } from '../simulation/types.js';
import { Cancelled, Refusal } from '../simulation/worker-link.js';
import { chartMap } from '../state/session.js';
import { Topic } from '../lib/topic.js';

export interface CrossoverAnswer {
  state: 'none' | 'running' | 'ready' | 'stopped' | 'failed';
  /** Runs that are finished, and those of the steps so far. */
  done: number;
  all: number;
  found: CrossoverFound | null;
  command: string;
  errors: readonly Diagnostic[];
}

const NOTHING: CrossoverAnswer = { state: 'none', done: 0, all: 0, found: null, command: '', errors: [] };

export class CrossoverState {
  readonly answer = new Topic<CrossoverAnswer>(NOTHING);
  readonly charts = new Topic<ReadonlyMap<string, ChartData>>(new Map());
  readonly feed: ChartFeed;
  #generation = 0;
  #given = new Set<Given<unknown>>();

  constructor(readonly app: App) {
    const say = app.text.say(words);
    this.feed = {
      topic: () => this.charts,
      zooms: false,
      chart: (name) => this.charts.value.get(name),
      ghost: () => null,
      title: () => say('chart'),
      about: () => say('chart.about'),
      role: (_chart, role) => (role === 'slo' ? say('role.crossover') : role === 'arrivals' ? 'A' : 'B'),
    };
    // What is compared is another pair now.
    for (const topic of [app.store.values, app.pins, app.traceFile.info]) topic.subscribe(() => { this.#changed(); });
    app.crossover.subscribe(() => { void this.run(); });
    void this.run();
  }

  stop(): void {
    this.#letGo();
    this.answer.update({ state: 'stopped' });
  }

  #changed(): void {
    if (this.answer.value.state === 'none') return;
    this.#letGo();
    this.charts.set(new Map());
    this.answer.set(NOTHING);
  }

  #letGo(): void {
    this.#generation += 1;
    for (const given of this.#given) given.cancel();
    this.#given.clear();
  }

  async run(): Promise<void> {
    this.#letGo();
    const generation = this.#generation;
    const { app } = this;
    const [pinned] = app.pins.value;
    const asked = app.crossover.value;
    if (pinned === undefined || asked === null) return;
    const spec: CrossoverSpec = { a: parseLink(pinned.link).scenario, b: app.store.values.value, over: asked.over, metric: asked.metric, seeds: pinned.seeds };
    this.answer.set({ ...NOTHING, state: 'running' });
    try {
      await this.#search(generation, spec);
    } catch (thrown) {
      if (thrown instanceof Cancelled || generation !== this.#generation) return;
      if (!(thrown instanceof Refusal)) throw thrown;
      this.#letGo();
      this.answer.set({ ...NOTHING, state: 'failed', errors: thrown.errors });
    }
  }

  async #search(generation: number, spec: CrossoverSpec): Promise<void> {
    const inputs = await inputsOf(this.app);
    const studio = await this.app.traceFile.studio();
    let more: CrossoverKnown[] = [];
    for (let begins = true; ; begins = false) {
      const step = await studio.call('crossover_step', { spec: begins ? spec : null, more });
      if (generation !== this.#generation) return;
      if (step.found !== null) {
        this.charts.set(chartMap(step.charts));
        this.answer.update({ state: 'ready', found: step.found, command: step.command });
        this.app.scheduler.invalidateAll();
        return;
      }
      this.answer.update({ all: this.answer.value.all + 2 * step.seeds.length * step.needs.length });
      const measure = async (scenario: ScenarioPatch, seed: number): Promise<number | null> => {
        const given = sharedPool().give({ kind: 'metrics', scenario, seed, metrics: [spec.metric] }, { priority: 'asked', inputs });
        this.#given.add(given);
        const { values } = await given.done.finally(() => { this.#given.delete(given); });
        if (generation === this.#generation) this.answer.update({ done: this.answer.value.done + 1 });
        return values[0] ?? null;
      };
      const side = (scenario: ScenarioPatch): Promise<(number | null)[]> => Promise.all(step.seeds.map((seed) => measure(scenario, seed)));
      more = await Promise.all(step.needs.map(async ({ value, a, b }): Promise<CrossoverKnown> => {
        const [of, other] = await Promise.all([side(a), side(b)]);
        return { value, a: of, b: other };
      }));
      if (generation !== this.#generation) return;
    }
  }
}
