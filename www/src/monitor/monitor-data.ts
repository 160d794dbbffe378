// What the monitor knows: it asks the simulation's thread after every answer while somebody looks, one question at a time.
import type { App } from '../app.js';
import { Refusal } from '../engine/client.js';
import type { MonitorOptions, MonitorView } from '../engine/types.js';
import { Topic } from '../state/topic.js';

export type Sorting = Pick<MonitorOptions, 'client' | 'sort' | 'descending' | 'rows'>;

/** Rows of the table, and when more are asked for. */
export const FEW_ROWS = 12;
export const MORE_ROWS = 200;

export class MonitorData {
  readonly view = new Topic<MonitorView | null>(null);
  readonly sorting = new Topic<Sorting>({ client: 'user', sort: 'service', descending: true, rows: FEW_ROWS });
  #seen: unknown = null;
  #open = false;
  #asking = false;
  #stale = false;

  constructor(private readonly app: App) {
    app.session.subscribe(() => { if (app.session.value.answer !== this.#seen) this.ask(); });
    this.sorting.subscribe(() => { this.ask(); });
  }

  /** Nothing is asked while nobody looks. */
  look(open: boolean): void {
    this.#open = open;
    if (open && (this.#stale || this.app.session.value.answer !== this.#seen)) this.ask();
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
        this.#seen = app.session.value.answer;
        const { window } = app.view.value;
        const view = await app.ask({ kind: 'engine', call: 'monitor', values: [{ ...this.sorting.value, window }] }) as MonitorView | null;
        // The worker has the first module: it takes the larger one for the next run, whose answer is heard of.
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
