// The page's end of a run beside its own: the newest wish wins, and its answer is a topic.
import { sameValues, type Values } from './values.js';
import { Topic } from '../lib/topic.js';
import type { Beside, BesideAnswer } from './beside-worker.js';
import { start } from './start.js';
import { NEEDS_NETWORK, type Diagnostic, type RunOptions } from './types.js';
import { Cancelled, Refusal, WorkerLink, type WorkerPort } from './worker-link.js';

/** Without an answer and without errors: it is under way. */
export interface BesideShown { asked: Values; answer: BesideAnswer | null; errors: readonly Diagnostic[] }

export function besideWorker(): WorkerPort {
  return new Worker(new URL('./beside-worker.ts', import.meta.url), { type: 'module' });
}

export class BesideRun {
  readonly shown = new Topic<BesideShown | null>(null);
  readonly #link: WorkerLink;
  #asked: { scenario: Values; options: RunOptions } | null = null;
  readonly #online = (): void => { this.again(); };

  constructor(spawn = besideWorker) {
    this.#link = new WorkerLink(spawn, { first: () => [start()] });
  }

  /** The answer to these values; null until it is there. */
  of(values: Values): BesideShown | null {
    const shown = this.shown.value;
    return shown !== null && sameValues(shown.asked, values) ? shown : null;
  }

  /** What was asked last is not asked again, whether it was answered or refused: that takes `again`, or a network that is back. */
  ask(scenario: Values, options: RunOptions): void {
    if (this.#asked !== null && sameValues(this.#asked.scenario, scenario) && JSON.stringify(this.#asked.options) === JSON.stringify(options)) return;
    this.#asked = { scenario, options };
    void this.#ask();
  }

  /** Asks once more what was refused. */
  again(): void {
    const { value: shown } = this.shown;
    if (this.#asked === null || shown === null || shown.errors.length === 0) return;
    this.shown.set({ asked: this.#asked.scenario, answer: null, errors: [] });
    void this.#ask();
  }

  end(): void {
    this.#asked = null;
    removeEventListener('online', this.#online);
    this.#link.end(new Cancelled());
  }

  async #ask(): Promise<void> {
    const asked = this.#asked;
    if (asked === null) return;
    removeEventListener('online', this.#online);
    const take = (answer: BesideAnswer | null, errors: readonly Diagnostic[]): void => {
      if (this.#asked === asked) this.shown.set({ asked: asked.scenario, answer, errors });
    };
    try {
      const question: Beside = { kind: 'beside', ...asked };
      take(await (this.#link.ask(question) as Promise<BesideAnswer>), []);
    } catch (thrown) {
      if (thrown instanceof Cancelled) return;
      if (!(thrown instanceof Refusal)) throw thrown;
      if (this.#asked === asked && thrown.errors.some(({ code }) => NEEDS_NETWORK.includes(code))) addEventListener('online', this.#online);
      take(null, thrown.errors);
    }
  }
}
