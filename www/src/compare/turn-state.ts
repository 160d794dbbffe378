// Where the better of A and B changes over a parameter: steps of the search come from the studio's module, their runs are
// simulated in the pool with the same seeds.
import type { App } from '../app/app.js';
import type { ChartFeed } from '../draw/chart-feed.js';
import { turn as words } from '../i18n/en/turn.js';
import { inputsOf, sharedPool } from '../pool/shared-pool.js';
import type { Given } from '../pool/worker-pool.js';
import { parseLink } from '../simulation/module.js';
import type { ChartData, Diagnostic, ScenarioPatch, TurnFound, TurnKnown, TurnSpec } from '../simulation/types.js';
import { Cancelled, Refusal } from '../simulation/worker-link.js';
import { chartMap } from '../state/session.js';
import { Topic } from '../lib/topic.js';

export interface TurnAnswer {
  state: 'none' | 'running' | 'ready' | 'stopped' | 'failed';
  /** Runs that are finished, and those of the steps so far. */
  done: number;
  all: number;
  found: TurnFound | null;
  command: string;
  errors: readonly Diagnostic[];
}

const NOTHING: TurnAnswer = { state: 'none', done: 0, all: 0, found: null, command: '', errors: [] };

export class TurnState {
  readonly answer = new Topic<TurnAnswer>(NOTHING);
  readonly charts = new Topic<ReadonlyMap<string, ChartData>>(new Map());
  readonly feed: ChartFeed;
  #turn = 0;
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
      role: (_chart, role) => (role === 'slo' ? say('role.turn') : role === 'arrivals' ? 'A' : 'B'),
    };
    // What is compared is another pair now.
    for (const topic of [app.store.values, app.pins, app.traceFile.info]) topic.subscribe(() => { this.#changed(); });
    app.turn.subscribe(() => { void this.run(); });
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
    this.#turn += 1;
    for (const given of this.#given) given.cancel();
    this.#given.clear();
  }

  async run(): Promise<void> {
    this.#letGo();
    const turn = this.#turn;
    const { app } = this;
    const [pinned] = app.pins.value;
    const asked = app.turn.value;
    if (pinned === undefined || asked === null) return;
    const spec: TurnSpec = { a: parseLink(pinned.link).scenario, b: app.store.values.value, over: asked.over, metric: asked.metric, seeds: pinned.seeds };
    this.answer.set({ ...NOTHING, state: 'running' });
    try {
      await this.#search(turn, spec);
    } catch (thrown) {
      if (thrown instanceof Cancelled || turn !== this.#turn) return;
      if (!(thrown instanceof Refusal)) throw thrown;
      this.#letGo();
      this.answer.set({ ...NOTHING, state: 'failed', errors: thrown.errors });
    }
  }

  async #search(turn: number, spec: TurnSpec): Promise<void> {
    const inputs = await inputsOf(this.app);
    const studio = await this.app.traceFile.studio();
    let more: TurnKnown[] = [];
    for (let begins = true; ; begins = false) {
      const step = await studio.call('turn_step', { spec: begins ? spec : null, more });
      if (turn !== this.#turn) return;
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
        if (turn === this.#turn) this.answer.update({ done: this.answer.value.done + 1 });
        return values[0] ?? null;
      };
      const side = (scenario: ScenarioPatch): Promise<(number | null)[]> => Promise.all(step.seeds.map((seed) => measure(scenario, seed)));
      more = await Promise.all(step.needs.map(async ({ value, a, b }): Promise<TurnKnown> => {
        const [of, other] = await Promise.all([side(a), side(b)]);
        return { value, a: of, b: other };
      }));
      if (turn !== this.#turn) return;
    }
  }
}
