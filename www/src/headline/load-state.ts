// What is found of the shown settings in idle time of the pool, one after another: the load of the replicas, what makes requests
// wait, the rate up to which the SLO holds, and the settings without which the run is the same. All is let go as soon as a control moves; what takes too long is given up.
import type { App } from '../app/app.js';
import { seedRangesOf } from './seed-ranges.js';
import { part, unreached } from '../lib/part.js';
import type { Task, TaskResult } from '../pool/pool-calls.js';
import type { Given } from '../pool/worker-pool.js';
import { ownProfile } from '../app/own-profile.js';
import type { Diagnostic, ReplicaLoad, Summary, WaitCause } from '../simulation/types.js';
import { Cancelled, Refusal } from '../simulation/worker-link.js';
import { Topic } from '../lib/topic.js';

/** The load follows an answer after this: a drag goes on before. */
const LOAD_MS = 150;
/** The others follow after this, and after the further seeds of the answer. */
const IDLE_MS = 800;
/** What takes longer is given up. */
const BUDGET_MS = 20_000;

const STEPS = ['load', 'causes', 'slo', 'unneeded'] as const;
type Step = (typeof STEPS)[number];

export interface LoadAnswer {
  /** The steps that are over; one without a result was given up, or has none for these settings. */
  over: readonly Step[];
  load: ReplicaLoad | null;
  /** The load that was shown last, of other settings. */
  before: number | null;
  causes: readonly WaitCause[];
  /** The highest rate at which the SLO holds, req/s. */
  slo_rps: number | null;
  /** Notes on settings without which the run is the same. */
  unneeded: readonly Diagnostic[];
}

const NOTHING: LoadAnswer = { over: [], load: null, before: null, causes: [], slo_rps: null, unneeded: [] };

/** Whether something of a run asks for a cause. */
export function mayHaveCause({ warnings }: Pick<Summary, 'warnings'>): boolean {
  return warnings.some(({ code }) => code === 'overloaded' || code === 'backlog_at_gateway');
}

export class LoadState {
  readonly answer = new Topic<LoadAnswer>(NOTHING);
  #given: Given<unknown> | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isUnderWay = false;
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
    this.#isUnderWay = false;
    this.#given?.cancel();
    const { load, before } = this.answer.value;
    this.answer.set({ ...NOTHING, before: load?.share ?? before });
  }

  /** The first step that is not over. */
  get #next(): Step | undefined {
    return STEPS.find((step) => !this.answer.value.over.includes(step));
  }

  #isReadyFor(step: Step): boolean {
    const { state, answer } = this.app.session.value;
    const isStill = state === 'ready' && answer?.preview === false && this.app.belonging.agrees && document.visibilityState === 'visible';
    return isStill && (step === 'load' || seedRangesOf(this.app).isOver);
  }

  #goOn(): void {
    const step = this.#next;
    if (step === undefined || this.#timer !== undefined || this.#isUnderWay || !this.#isReadyFor(step)) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#isReadyFor(step)) void this.#take(step);
    }, step === 'load' ? LOAD_MS : IDLE_MS);
  }

  async #take(step: Step): Promise<void> {
    this.#turn += 1;
    const turn = this.#turn;
    this.#isUnderWay = true;
    const found = await this.#found(step, turn);
    if (turn !== this.#turn) return;
    this.#isUnderWay = false;
    this.answer.update({ ...found, over: [...this.answer.value.over, step] });
    this.#goOn();
  }

  async #found(step: Step, turn: number): Promise<Partial<LoadAnswer>> {
    const { answer } = this.app.session.value;
    switch (step) {
      case 'load': return { load: await this.#answerOf('load', turn) };
      case 'causes': return answer !== null && mayHaveCause(answer.summary) ? { causes: await this.#answerOf('causes', turn) ?? [] } : {};
      case 'unneeded': return { unneeded: await this.#answerOf('unneeded', turn) ?? NOTHING.unneeded };
      case 'slo': return { slo_rps: await this.#answerOf('slo', turn) };
    }
  }

  /** Null where the pool has no answer, or none in time, and where its script is out of reach. */
  async #answerOf<K extends Step>(kind: K, turn: number): Promise<TaskResult[K] | null> {
    const { app } = this;
    const pool = await part(() => import('../pool/shared-pool.js')).catch(unreached);
    if (pool === null) return null;
    const inputs = await pool.inputsOf(app);
    if (turn !== this.#turn) return null;
    const task = { kind, scenario: app.store.values.value } as Extract<Task, { kind: K }>;
    const given = pool.sharedPool().give(task, { priority: 'idle', inputs });
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
