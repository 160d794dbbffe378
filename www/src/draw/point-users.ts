// The user of a point that has no colour of its own: asked of the run when it is read out, and kept as long as the answer.
import type { App } from '../app/app.js';
import type { RequestFacts } from '../simulation/types.js';
import { Refusal } from '../simulation/worker-link.js';

export class PointUsers {
  #of: object | null = null;
  #known = new Map<number, number | null>();

  constructor(private readonly app: App, private readonly changed: () => void) {}

  /** The user of a request; null as long as it is not known. */
  user(id: number): number | null {
    const { answer } = this.app.session.value;
    if (this.#of !== answer) {
      this.#of = answer;
      this.#known = new Map();
    }
    const known = this.#known.get(id);
    if (known === undefined && answer?.preview === false) void this.#ask(id, this.#known);
    return known ?? null;
  }

  async #ask(id: number, known: Map<number, number | null>): Promise<void> {
    known.set(id, null);
    try {
      const facts = await this.app.ask({ kind: 'request', id }) as RequestFacts | null;
      if (facts === null) return;
      known.set(id, facts.user);
      if (known === this.#known) this.changed();
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown;
    }
  }
}
