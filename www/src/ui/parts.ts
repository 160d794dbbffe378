// Parts of the page that are fetched when they are first looked at, and kept then: their sources, steps and answers stay.
// One that could not be fetched is not kept, and is fetched again when it is asked for.
import { remembersFailures } from '../lib/part.js';

type Part<Value> = { state: 'fetching' } | { state: 'there'; value: Value } | { state: 'missing' };

export class Parts<Name extends string, Value = unknown> {
  readonly #parts = new Map<Name, Part<Value>>();

  /** `changed` hears when a part is there, or cannot be. */
  constructor(private readonly changed: () => void) {}

  state(name: Name): Part<Value>['state'] | null {
    return this.#parts.get(name)?.state ?? null;
  }

  /** What was fetched; undefined until it is there. */
  value(name: Name): Value | undefined {
    const part = this.#parts.get(name);
    return part?.state === 'there' ? part.value : undefined;
  }

  /** Fetches it, unless that was tried before. */
  want(name: Name, fetch: () => Promise<Value>): void {
    if (!this.#parts.has(name)) void this.#fetch(name, fetch);
  }

  again(name: Name): void {
    if (remembersFailures()) {
      location.reload();
      return;
    }
    this.#parts.delete(name);
    this.changed();
  }

  async #fetch(name: Name, fetch: () => Promise<Value>): Promise<void> {
    this.#parts.set(name, { state: 'fetching' });
    try {
      this.#parts.set(name, { state: 'there', value: await fetch() });
    } catch (thrown) {
      console.warn(`${name}:`, thrown);
      this.#parts.set(name, { state: 'missing' });
    }
    this.changed();
  }
}
