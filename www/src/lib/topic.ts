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

/** Notifies of a topic's changes only where one of these parts of it changes. */
export function partsOf<T>(topic: Topic<T>, ...of: readonly ((value: T) => unknown)[]): Watchable {
  return {
    subscribe: (listener) => {
      const read = (): unknown[] => of.map((part) => part(topic.value));
      let seen = read();
      return topic.subscribe((value) => {
        const now = read();
        if (now.every((part, index) => Object.is(part, seen[index]))) return;
        seen = now;
        listener(value);
      });
    },
  };
}

/** Notifies of the changes of each. */
export function both(...watched: readonly Watchable[]): Watchable {
  return {
    subscribe: (listener) => {
      const ends = watched.map((one) => one.subscribe(listener));
      return () => { for (const end of ends) end(); };
    },
  };
}
