// The load of the shown settings as a share of their capacity: searched in idle time of the pool, let go
// as soon as a control moves, and given up after a while. Until it is known, an estimate from the run itself is shown.
import type { App } from '../app.js';
import { seedRangesOf } from '../panels/seed-ranges.js';
import { ownProfile } from '../profile/profile-own.js';
import type { CapacityLoad, Summary } from '../simulation/types.js';
import { Cancelled, Refusal } from '../simulation/worker-link.js';
import { Topic } from '../state/topic.js';
import { goalOf } from './goal.js';
import type { Given } from '../pool/worker-pool.js';
import { part } from '../part.js';

/** A drag goes on before this, and further seeds of the answer come first. */
const IDLE_MS = 800;
/** A search that takes longer is given up: the estimate stays. */
const BUDGET_MS = 20_000;

export interface LoadAnswer {
  /** `unknown`: given up, or these settings have no rate to search. */
  state: 'waiting' | 'running' | 'found' | 'unknown';
  load: CapacityLoad | null;
}

const WAITING: LoadAnswer = { state: 'waiting', load: null };

export interface Estimate { sign: '≈' | '≥'; share: number }

const GOALS = ['ttft_s', 'tbt_s', 'e2e_s', 'queue_s', 'tpot_s'] as const;

/**
 * What the run says by itself: one that misses the goal of the capacity search has a load of 100 % or more; of one that
 * meets it the busy share of the GPU stands for the load, which it exceeds where a batch could be larger.
 */
export function estimateOf(summary: Summary, values: Readonly<Record<string, unknown>>): Estimate | null {
  const late = GOALS.some((name) => {
    const limit = goalOf(values)[name];
    const quantile = Number(values[name === 'queue_s' ? 'capacity.queue_quantile' : 'capacity.quantile']);
    const { p50, p90, p95, p99 } = summary[name];
    const time = quantile > 0.97 ? p99 : quantile > 0.925 ? p95 : quantile > 0.7 ? p90 : p50;
    return limit > 0 && time !== null && time > limit;
  });
  if (late || summary.warnings.some(({ code }) => code === 'overloaded')) return { sign: '≥', share: 1 };
  return summary.gpu.busy === null ? null : { sign: '≈', share: Math.min(summary.gpu.busy, 1) };
}

export class LoadState {
  readonly answer = new Topic<LoadAnswer>(WAITING);
  #given: Given<CapacityLoad | null> | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #turn = 0;

  constructor(readonly app: App) {
    const changed = (): void => { this.#letGo(); };
    app.store.values.subscribe(changed);
    app.traceFile.info.subscribe(changed);
    ownProfile.subscribe(changed);
    app.session.subscribe(() => { this.#goOn(); });
    seedRangesOf(app).answer.subscribe(() => { this.#goOn(); });
    this.#goOn();
  }

  #letGo(): void {
    this.#turn += 1;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#given?.cancel();
    this.answer.set(WAITING);
  }

  get #isIdle(): boolean {
    const { state, answer } = this.app.session.value;
    return state === 'ready' && seedRangesOf(this.app).isOver && answer?.preview === false && this.app.belonging.agrees && document.visibilityState === 'visible';
  }

  #goOn(): void {
    if (this.#timer !== undefined || this.answer.value.state !== 'waiting' || !this.#isIdle) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#isIdle) void this.#search();
    }, IDLE_MS);
  }

  async #search(): Promise<void> {
    this.#turn += 1;
    const turn = this.#turn;
    this.answer.set({ state: 'running', load: null });
    const load = await this.#found(turn);
    if (turn !== this.#turn) return;
    this.answer.set(load === null ? { state: 'unknown', load } : { state: 'found', load });
  }

  async #found(turn: number): Promise<CapacityLoad | null> {
    const { app } = this;
    const { inputsOf, sharedPool } = await part(() => import('../pool/shared-pool.js'));
    const inputs = await inputsOf(app);
    if (turn !== this.#turn) return null;
    const given = sharedPool().give({ kind: 'load', scenario: app.store.values.value }, { priority: 'idle', inputs });
    this.#given = given;
    const tooLong = setTimeout(() => { given.cancel(); }, BUDGET_MS);
    try {
      return await given.done;
    } catch (thrown) {
      if (thrown instanceof Cancelled || thrown instanceof Refusal) return null;
      throw thrown;
    } finally {
      clearTimeout(tooLong);
    }
  }
}

const STATES = new WeakMap<App, LoadState>();

/** The page's one. */
export function loadOf(app: App): LoadState {
  const known = STATES.get(app) ?? new LoadState(app);
  STATES.set(app, known);
  return known;
}
