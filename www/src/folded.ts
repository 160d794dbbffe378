// What is folded away is drawn when nothing else is to be done: it is there when a reader unfolds it or searches the page, and
// no answer waits for it.

export interface Folded {
  /** Draws what has changed since it was drawn last. */
  catchUp(): void;
}

/** A slider that moved moves again: what is folded away follows when it rests. */
const REST_MS = 400;
/** Where a browser tells no idle time. */
const PIECE_MS = 8;
const PAUSE_MS = 50;

type Rest = Pick<IdleDeadline, 'timeRemaining'>;

function whenIdle(work: (rest: Rest) => void): void {
  if (typeof requestIdleCallback === 'function') {
    requestIdleCallback(work);
    return;
  }
  setTimeout(() => {
    const until = performance.now() + PIECE_MS;
    work({ timeRemaining: () => until - performance.now() });
  }, PAUSE_MS);
}

export class FoldedWork {
  readonly #waiting = new Set<Folded>();
  #isComing = false;
  /** Nothing was drawn yet: the first time no reader is disturbed. */
  #isNew = true;
  #rest: ReturnType<typeof setTimeout> | undefined;

  /** `isBusy`: whether an answer is on its way; whoever is asked calls `wake` once it is there. */
  constructor(private readonly isBusy: () => boolean) {}

  add(element: Folded): void {
    this.#waiting.add(element);
    this.wake();
  }

  wake(): void {
    if (this.#waiting.size === 0 || this.isBusy()) return;
    if (this.#isNew) {
      this.#goOn();
      return;
    }
    clearTimeout(this.#rest);
    this.#rest = setTimeout(() => { this.#goOn(); }, REST_MS);
  }

  #goOn(): void {
    if (this.#isComing) return;
    this.#isComing = true;
    whenIdle((rest) => { this.#work(rest); });
  }

  /** At least one, so that it comes to an end on a machine that is never idle. */
  #work(rest: Rest): void {
    this.#isComing = false;
    if (this.isBusy()) return;
    for (const element of this.#waiting) {
      this.#waiting.delete(element);
      element.catchUp();
      if (rest.timeRemaining() <= 1) break;
    }
    if (this.#waiting.size > 0) this.#goOn();
    else this.#isNew = false;
  }
}
