// Updates of elements in closed sections: the page makes them in idle time, so that no answer waits for them and a reader who opens
// a section or searches the page finds them made.

import { DueNow } from '../lib/due.js';

export interface Folded {
  /** Draws what has changed since it was drawn last. */
  catchUp(): void;
}

/** A slider that moves goes on moving: elements in closed sections follow once it rests. */
const REST_MS = 400;
/** A machine that is never idle goes on after this, and a page that never rests. */
const IDLE_MS = 2_000;
/** Work at a time where no idle time is known of, and the pause before it where a browser has no `requestIdleCallback`. */
const PIECE_MS = 8;
const PAUSE_MS = 50;

type Rest = Pick<IdleDeadline, 'timeRemaining'>;

/** In idle time, and after a while in any case. */
export function whenIdle(work: (rest: Rest) => void): void {
  let isOver = false;
  const once = (rest: Rest): void => {
    if (isOver) return;
    isOver = true;
    work(rest);
  };
  const hasIdleTime = typeof requestIdleCallback === 'function';
  if (hasIdleTime) requestIdleCallback(once);
  setTimeout(() => {
    const until = performance.now() + PIECE_MS;
    once({ timeRemaining: () => until - performance.now() });
  }, hasIdleTime ? IDLE_MS : PAUSE_MS);
}

export class FoldedWork {
  readonly #waiting = new Set<Folded>();
  readonly #due = new DueNow('folded');
  #isComing = false;
  /** The first round, before a reader has moved anything, does not wait for a rest. */
  #isNew = true;
  #rest: ReturnType<typeof setTimeout> | undefined;
  /** Since when a rest is waited for. */
  #restless: number | null = null;

  /** `isBusy`: whether an answer is on its way; `wake` has to be called once the answer is there. */
  constructor(private readonly isBusy: () => boolean) {}

  add(element: Folded): void {
    this.#waiting.add(element);
    this.#due.set(true);
    this.wake();
  }

  wake(): void {
    if (this.#waiting.size === 0 || this.isBusy()) return;
    if (this.#isNew) {
      this.#goOn();
      return;
    }
    clearTimeout(this.#rest);
    this.#restless ??= performance.now();
    const left = this.#restless + IDLE_MS - performance.now();
    this.#rest = setTimeout(() => { this.#goOn(); }, Math.max(0, Math.min(REST_MS, left)));
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
    this.#restless = null;
    for (const element of this.#waiting) {
      this.#waiting.delete(element);
      element.catchUp();
      if (rest.timeRemaining() <= 1) break;
    }
    if (this.#waiting.size > 0) this.#goOn();
    else {
      this.#isNew = false;
      this.#due.set(false);
    }
  }
}
