// What the page still does by itself, without an action of the reader. It stands on the document as `data-busy`, how many things
// are due, and `data-due`, of which kinds: a test or a script that drives the page waits for 0 in place of a time.
import { Topic } from './topic.js';

/** `run`: the answer to the settings. `link`: a link of the page that was clicked, until the page has heard of it. `fetch`: a part of
 * the page. `question`: to a thread of the page. `pool`: a task of the pool. `folded`: drawing what is folded away, in idle time.
 * `ranges`: further seeds, after a pause. `address`: writing it, after a pause. */
export type DueKind = 'run' | 'link' | 'fetch' | 'question' | 'pool' | 'folded' | 'ranges' | 'address';

export class Due {
  /** Kinds of which nothing is due are not in it. */
  readonly counts = new Topic<ReadonlyMap<DueKind, number>>(new Map());

  /** Something is due until the function that this gives is called; a second call of it changes nothing. */
  begin(kind: DueKind): () => void {
    this.#add(kind, 1);
    let isOver = false;
    return () => {
      if (!isOver) this.#add(kind, -1);
      isOver = true;
    };
  }

  async during<T>(kind: DueKind, work: () => Promise<T>): Promise<T> {
    const end = this.begin(kind);
    try {
      return await work();
    } finally {
      end();
    }
  }

  #add(kind: DueKind, more: number): void {
    const counts = new Map(this.counts.value);
    const count = (counts.get(kind) ?? 0) + more;
    if (count === 0) counts.delete(kind);
    else counts.set(kind, count);
    this.counts.set(counts);
  }
}

/** The page's one. */
export const due = new Due();

export function showDue({ counts }: Due, root: HTMLElement): void {
  const show = (): void => {
    root.dataset['busy'] = String([...counts.value.values()].reduce((sum, count) => sum + count, 0));
    root.dataset['due'] = [...counts.value.keys()].sort().join(' ');
  };
  counts.subscribe(show);
  show();
}

/** Something that is due or not: a timer that is set and cleared. */
export class DueNow {
  #end: (() => void) | null = null;

  constructor(private readonly kind: DueKind, private readonly of = due) {}

  set(isDue: boolean): void {
    if (isDue) {
      this.#end ??= this.of.begin(this.kind);
    } else {
      this.#end?.();
      this.#end = null;
    }
  }
}
