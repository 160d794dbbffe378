// A question about the finished run that is asked while somebody looks at its answer: after every run, one at a time.
import type { App } from '../app.js';
import { Refusal } from '../engine/client.js';
import { Topic } from './topic.js';

export class OpenQuestion<T> {
  readonly view = new Topic<T | null>(null);
  #seen: unknown = null;
  #open = false;
  #asking = false;
  #stale = false;

  /** `question` is answered null while the worker has the first module only. */
  constructor(protected readonly app: App, private readonly question: () => Promise<T | null>) {
    app.session.subscribe(() => { if (this.#run !== this.#seen) this.ask(); });
  }

  get #run(): unknown {
    return this.app.session.value.answer?.summary ?? null;
  }

  /** Nothing is asked while nobody looks. */
  look(open: boolean): void {
    this.#open = open;
    if (open && (this.#stale || this.#run !== this.#seen)) this.ask();
  }

  ask(): void {
    this.#stale = true;
    if (this.#open && !this.#asking) void this.#askWhileStale();
  }

  async #askWhileStale(): Promise<void> {
    const { app } = this;
    this.#asking = true;
    try {
      while (this.#stale && this.#open && this.#run !== null) {
        this.#stale = false;
        this.#seen = this.#run;
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
