// Requests that change their place while the picture plays move there, so that the eye can follow one; those that end fade.
import type { Mark } from './layout.js';

/** Time in which a mark covers two thirds of the way that is left. */
const EASE_MS = 70;
const FADE_MS = 350;
const FADE_PX = 24;

export type Moved = Mark & { alpha: number };

export class Motion {
  #before = new Map<number, Moved>();
  #leaving: { mark: Mark; since_ms: number }[] = [];
  #last_ms = 0;

  /** Where marks are drawn now; as they stand where the picture does not play. */
  at(marks: readonly Mark[], now_ms: number, plays: boolean): readonly Moved[] {
    const passed = now_ms - this.#last_ms;
    this.#last_ms = now_ms;
    const before = this.#before;
    const moved = marks.map((mark): Moved => {
      const from = before.get(mark.id);
      if (!plays || from === undefined || mark.place === 'coming') return { ...mark, alpha: 1 };
      const part = 1 - Math.exp(-passed / EASE_MS);
      const between = (one: number, other: number): number => (Math.abs(other - one) < 0.5 ? other : one + (other - one) * part);
      return { ...mark, left: between(from.left, mark.left), top: between(from.top, mark.top), height: between(from.height, mark.height), alpha: 1 };
    });
    this.#before = new Map(moved.map((mark) => [mark.id, mark]));
    if (!plays) {
      this.#leaving = [];
      return moved;
    }
    for (const mark of before.values()) if (mark.place === 'pool' && !this.#before.has(mark.id)) this.#leaving.push({ mark, since_ms: now_ms });
    this.#leaving = this.#leaving.filter(({ since_ms }) => now_ms - since_ms < FADE_MS);
    const fading = this.#leaving.map(({ mark, since_ms }): Moved => {
      const part = (now_ms - since_ms) / FADE_MS;
      return { ...mark, left: mark.left + part * FADE_PX, alpha: 1 - part };
    });
    return [...fading, ...moved];
  }
}
