// A question about the finished run that is asked while somebody looks at its answer: after every run, one at a time.
import type { App } from '../app.js';
import { Refusal } from '../engine/client.js';
import { missingPart } from '../engine/fetched.js';
import type { Failure } from '../engine/types.js';
import { partsOf, Topic, type Watchable } from './topic.js';

const NONE: readonly Failure[] = [];

export class OpenQuestion<T> {
  readonly view = new Topic<T | null>(null);
  /** Why the newest run has no view. */
  readonly failures = new Topic<readonly Failure[]>(NONE);
  #open = false;
  #asking = false;
  #stale = true;
  /** A run was asked for that takes the larger module. One that came back without it is not asked for again. */
  #enlarging = false;

  /** `question` is answered null while the worker has the first module only; its answer hangs on `also` beside the run. */
  constructor(private readonly app: App, private readonly question: () => Promise<T | null>, ...also: Watchable[]) {
    for (const topic of [partsOf(app.session, ({ answer }) => answer?.summary), ...also]) topic.subscribe(() => { this.ask(); });
  }

  /** Nothing is asked while nobody looks. */
  look(open: boolean): void {
    if (open && !this.#open) this.#enlarging = false;
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
        if (view !== null) {
          this.#enlarging = false;
          this.failures.set(NONE);
          this.view.set(view);
          app.scheduler.invalidateAll();
        } else if (this.#enlarging) {
          throw new Refusal([missingPart('the simulator is still the smaller one')]);
        } else {
          // The worker takes the larger module for the next run, whose answer is heard of.
          this.#enlarging = true;
          app.run();
        }
      }
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown;
      // Asked again after the next run, or when it is looked at again.
      this.#stale = true;
      this.failures.set(thrown.failures);
    } finally {
      this.#asking = false;
    }
  }
}
