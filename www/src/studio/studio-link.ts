// The page's end of the studio's worker. Cancelling ends the worker: reading a file cannot be interrupted otherwise.
import { Cancelled, WorkerLink } from '../simulation/worker-link.js';
import type { CallName, StudioCalls } from './studio-calls.js';

export class StudioLink {
  readonly #link: WorkerLink;

  /** `lost` hears that the worker has forgotten its source. */
  constructor(private readonly progress: (fraction: number) => void, lost: () => void) {
    this.#link = new WorkerLink(() => new Worker(new URL('./studio-worker.ts', import.meta.url), { type: 'module' }), { lost });
  }

  async call<K extends CallName>(call: K, args: StudioCalls[K]['args']): Promise<StudioCalls[K]['reply']> {
    return (await this.#link.ask({ call, args }, this.progress)) as StudioCalls[K]['reply'];
  }

  cancel(): void {
    if (this.#link.busy) this.#link.end(new Cancelled());
  }
}
