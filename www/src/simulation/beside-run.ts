// The page's end of a run beside its own: the newest wish wins, and its answer is a topic.
import { sameValues, type Values } from '../state/store.js';
import { Topic } from '../state/topic.js';
import type { Beside, BesideAnswer } from './beside-worker.js';
import { start } from './start.js';
import type { Diagnostic, RunOptions } from './types.js';
import { Cancelled, Refusal, WorkerLink } from './worker-link.js';

export interface BesideShown { asked: Values; answer: BesideAnswer | null; errors: readonly Diagnostic[] }

export class BesideRun {
  readonly shown = new Topic<BesideShown | null>(null);
  readonly #link = new WorkerLink(() => new Worker(new URL('./beside-worker.ts', import.meta.url), { type: 'module' }), { first: () => [start()] });
  #asked: { scenario: Values; options: RunOptions } | null = null;

  /** The answer to these values; null until it is there. */
  of(values: Values): BesideShown | null {
    const shown = this.shown.value;
    return shown !== null && sameValues(shown.asked, values) ? shown : null;
  }

  async ask(scenario: Values, options: RunOptions): Promise<void> {
    if (this.#asked !== null && sameValues(this.#asked.scenario, scenario) && JSON.stringify(this.#asked.options) === JSON.stringify(options)) return;
    const asked = { scenario, options };
    this.#asked = asked;
    const take = (answer: BesideAnswer | null, errors: readonly Diagnostic[]): void => {
      if (this.#asked === asked) this.shown.set({ asked: scenario, answer, errors });
    };
    try {
      const question: Beside = { kind: 'beside', scenario, options };
      take(await (this.#link.ask(question) as Promise<BesideAnswer>), []);
    } catch (thrown) {
      if (thrown instanceof Cancelled) return;
      if (!(thrown instanceof Refusal)) throw thrown;
      take(null, thrown.errors);
    }
  }

  end(): void {
    this.#asked = null;
    this.#link.end(new Cancelled());
  }
}
