// A question about the finished run that is asked while somebody looks at its answer: after every run, one at a time.
import type { App } from '../app.js';
import { Refusal } from '../engine/client.js';
import { partsOf, Topic, type Watchable } from './topic.js';

export class OpenQuestion<T> {
  readonly view = new Topic<T | null>(null);
  #open = false;
  #asking = false;
  #stale = true;

  /** `question` is answered null while the worker has the first module only; its answer hangs on `also` beside the run. */
  constructor(private readonly app: App, private readonly question: () => Promise<T | null>, ...also: Watchable[]) {
    for (const topic of [partsOf(app.session, ({ answer }) => answer?.summary), ...also]) topic.subscribe(() => { this.ask(); });
  }

  /** Nothing is asked while nobody looks. */
  look(open: boolean): void {
    this.#open = open;
    if (this.#stale) this.ask();
  }

  ask(): void {
    this.#stale = true;
    if (this.#open && !this.#asking) void this.#askWhileStale();
  }

  async #askWhileStale(): Promise<void> {
    const { app } = this;
    this.#asking = true;
    try {
      while (this.#stale && this.#open && app.session.value.answer !== null) {
        this.#stale = false;
        const view = await this.question();
        // The worker takes the larger module for the next run, whose answer is heard of.
        if (view === null) {
          app.run();
        } else {
          this.view.set(view);
          app.scheduler.invalidateAll();
        }
      }
    } catch (thrown) {
      // A run that is gone is followed by another.
      if (!(thrown instanceof Refusal)) throw thrown;
    } finally {
      this.#asking = false;
    }
  }
}
