// A question about the finished run that is asked while its answer is shown: after every run, one at a time.
import { Refusal } from '../simulation/worker-link.js';
import type { Diagnostic } from '../simulation/types.js';
import type { Session } from './session.js';
import { both, partsOf, Topic, type Watchable } from '../lib/topic.js';

const NONE: readonly Diagnostic[] = [];

/** Where runs are answered and answers are drawn: the app. */
interface Asking { readonly session: Topic<Session>; readonly scheduler: { invalidateAll(): void } }

export class OpenQuestion<T> {
  readonly view = new Topic<T | null>(null);
  /** Why the newest run has no view. */
  readonly errors = new Topic<readonly Diagnostic[]>(NONE);
  /** The answer depends on these. */
  readonly #on: Watchable;
  #unsubscribe: (() => void) | null = null;
  #open = false;
  #asking = false;
  #stale = true;

  /** The question's answer depends on `also` beside the run. */
  constructor(private readonly app: Asking, private readonly question: () => Promise<T>, ...also: Watchable[]) {
    this.#on = both(partsOf(app.session, ({ answer }) => answer?.summary), ...also);
  }

  /** Nothing is asked while no answer is shown. */
  look(open: boolean): void {
    this.#open = open;
    if (open) this.#unsubscribe ??= this.#on.subscribe(() => { this.ask(); });
    if (this.#stale) this.ask();
  }

  /** Hears of no more runs until it is looked at again: an element that leaves the page must not be kept by those that stay. */
  end(): void {
    this.#open = false;
    this.#unsubscribe?.();
    this.#unsubscribe = null;
    this.#stale = true;
  }

  ask(): void {
    this.#stale = true;
    if (this.#open && !this.#asking) void this.#askWhileStale();
  }

  /** Asks once more what was refused. */
  again(): void {
    this.errors.set(NONE);
    this.ask();
  }

  async #askWhileStale(): Promise<void> {
    const { app } = this;
    this.#asking = true;
    try {
      while (this.#stale && this.#open && app.session.value.answer !== null) {
        this.#stale = false;
        const view = await this.question();
        this.errors.set(NONE);
        this.view.set(view);
        app.scheduler.invalidateAll();
      }
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown;
      // Asked again after the next run, or when it is looked at again.
      this.#stale = true;
      this.errors.set(thrown.errors);
    } finally {
      this.#asking = false;
    }
  }
}
