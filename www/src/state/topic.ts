/** A value that can be watched. Listeners hear of a change once it is made, in the order they came. */
export class Topic<T> {
  readonly #listeners = new Set<(value: T) => void>();

  constructor(private current: T) {}

  get value(): T {
    return this.current;
  }

  set(value: T): void {
    if (Object.is(value, this.current)) return;
    this.current = value;
    for (const listener of [...this.#listeners]) listener(value);
  }

  update(change: Partial<T>): void {
    this.set({ ...this.current, ...change });
  }

  subscribe(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    return () => { this.#listeners.delete(listener); };
  }
}

/** What is enough to hear of changes. */
export type Watchable = Pick<Topic<unknown>, 'subscribe'>;
