// The shown run in the debugger's thread, while the section is open, and the step at which the reader stands.
import type { App } from '../app/app.js';
import { inputsOf } from '../pool/shared-pool.js';
import { start } from '../simulation/start.js';
import type { DebuggerStep, Diagnostic } from '../simulation/types.js';
import { Cancelled, Refusal, WorkerLink } from '../simulation/worker-link.js';
import { partsOf, Topic } from '../lib/topic.js';
import type { Go, Prepare, StepKind, Way } from './debugger-worker.js';

/** A drag goes on before this. */
const SETTLE_MS = 300;

export interface DebuggerAnswer {
  state: 'none' | 'running' | 'ready' | 'failed' | 'other_requests';
  progress: number;
  step: DebuggerStep | null;
  /** Why there is no run to step through, or no step where the reader wanted to go. */
  errors: readonly Diagnostic[];
}

export class DebuggerState {
  readonly answer = new Topic<DebuggerAnswer>({ state: 'none', progress: 0, step: null, errors: [] });
  readonly #link = new WorkerLink(
    () => new Worker(new URL('./debugger-worker.ts', import.meta.url), { type: 'module' }),
    { first: () => [start()], lost: (why) => { if (why !== null) this.answer.set({ state: 'failed', progress: 0, step: null, errors: [why] }); } },
  );
  #open = false;
  #isOld = true;
  #turn = 0;
  #settling: ReturnType<typeof setTimeout> | undefined;
  #going = false;
  #next: Omit<Go, 'kind'> | null = null;
  #target = 0;
  /** Whether a link brought the step at which the reader stands, and nothing was done since. */
  #linked = false;

  constructor(private readonly app: App) {
    partsOf(app.session, ({ answer }) => answer?.summary).subscribe(() => {
      this.#isOld = true;
      clearTimeout(this.#settling);
      if (this.#open) this.#settling = setTimeout(() => { void this.#prepare(); }, SETTLE_MS);
    });
    // A link or the way back.
    app.step.subscribe((step) => { if (step !== null && step !== this.answer.value.step?.view.step) this.go('to', step); });
  }

  /** A closed section keeps no run: it may take much memory. */
  look(open: boolean): void {
    if (open === this.#open) return;
    this.#open = open;
    if (open) {
      void this.#prepare();
      return;
    }
    clearTimeout(this.#settling);
    this.#turn += 1;
    this.#isOld = true;
    this.#link.end(new Cancelled());
  }

  /** Whether the reader stands at the step of a link. */
  get isLinked(): boolean {
    return this.#linked;
  }

  /** The step at which the reader will stand when all was answered. */
  get target(): number {
    return this.#target;
  }

  /** Steps on or back; several in a row add up while an answer is under way. */
  by(steps: number): void {
    const last = (this.answer.value.step?.view.steps ?? 1) - 1;
    this.go('to', Math.min(Math.max(this.#target + steps, 0), last));
  }

  /** Goes to a step. Of wishes that come while one is under way the last is carried out. */
  go(way: Way, number: number, of: StepKind = ''): void {
    if (this.answer.value.state !== 'ready') return;
    this.#linked = false;
    if (way === 'to') this.#target = number;
    this.#next = { way, number, of };
    if (!this.#going) void this.#go();
  }

  async #prepare(): Promise<void> {
    const { app } = this;
    const { shown } = app.belonging;
    const { answer } = app.session.value;
    // A preview is soon replaced by the run of which it is one.
    if (!this.#isOld || !this.#open || shown === null || answer === null || answer.preview) return;
    this.#isOld = false;
    this.#turn += 1;
    const turn = this.#turn;
    const former = this.answer.value.step;
    const linked = app.step.value ?? 0;
    this.answer.update({ state: 'running', progress: 0, errors: [] });
    try {
      const inputs = await inputsOf(app);
      if (turn !== this.#turn) return;
      const question: Prepare = { kind: 'prepare', scenario: shown.values, inputs };
      const step = await this.#link.ask(question, (progress) => { if (turn === this.#turn) this.answer.update({ progress }); }) as DebuggerStep;
      if (turn !== this.#turn) return;
      // The page holds other requests by now than those of which it shows the result.
      if (step.digest !== answer.summary.digest) {
        this.answer.set({ state: 'other_requests', progress: 0, step: null, errors: [] });
        return;
      }
      if (former === null && linked > 0) {
        this.answer.set({ state: 'ready', progress: 1, step, errors: [] });
        this.go('to', linked);
        this.#linked = true;
        return;
      }
      this.#take(step);
      if (former !== null && former.view.time_s > 0 && former.view.time_s <= step.end_s) this.go('time', former.view.time_s);
    } catch (thrown) {
      this.#refused(thrown, turn, 'failed');
    }
  }

  async #go(): Promise<void> {
    this.#going = true;
    for (let wish = this.#next; wish !== null; wish = this.#next) {
      this.#next = null;
      const turn = this.#turn;
      try {
        const question: Go = { kind: 'go', ...wish };
        const step = await this.#link.ask(question) as DebuggerStep;
        if (turn === this.#turn) this.#take(step);
      } catch (thrown) {
        this.#refused(thrown, turn, 'ready');
      }
    }
    this.#going = false;
  }

  #take(step: DebuggerStep): void {
    if (this.#next === null) this.#target = step.view.step;
    this.answer.set({ state: 'ready', progress: 1, step, errors: [] });
    if (this.#next === null && this.app.step.value !== null) this.app.step.set(step.view.step);
  }

  #refused(thrown: unknown, turn: number, state: 'ready' | 'failed'): void {
    if (thrown instanceof Cancelled) return;
    if (!(thrown instanceof Refusal)) throw thrown;
    if (turn !== this.#turn || this.answer.value.state === 'failed') return;
    this.#target = this.answer.value.step?.view.step ?? 0;
    if (this.app.step.value !== null) this.app.step.set(this.#target);
    this.answer.update({ state, errors: thrown.errors, ...(state === 'failed' ? { step: null } : {}) });
  }
}
