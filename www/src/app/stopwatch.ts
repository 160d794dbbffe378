// Measures what a slider's move costs: until the worker is asked, until its answer is here, drawing. Waiting for the next frame is the
// screen's time and not counted. Read by the bench as performance measures; it adds the task that takes the answer in.
import type { Answer } from '../simulation/protocol.js';

const NAME = 'servescope:slider-to-drawn';
const READY = 'servescope:ready';

export class Stopwatch {
  /** When the slider was moved, and when the worker was asked. */
  #moved_ms: number | null = null;
  #asked_ms = 0;
  #answered_ms = 0;
  #compute_ms = 0;
  #isAnswered = false;

  /** Call first thing in the handler of a slider's event. */
  moved(): void {
    this.#moved_ms = performance.now();
    this.#isAnswered = false;
  }

  asked(): void {
    this.#asked_ms = performance.now();
  }

  answered({ preview, compute_ms }: Answer): void {
    if (preview || this.#moved_ms === null) return;
    this.#answered_ms = performance.now();
    this.#compute_ms = compute_ms;
    this.#isAnswered = true;
  }

  /** The charts of a whole answer are on screen; the first time, the page is ready. */
  shown(): void {
    if (performance.getEntriesByName(READY).length === 0) performance.mark(READY);
  }

  drawn(draw_ms: number, requests: number): void {
    if (!this.#isAnswered || this.#moved_ms === null) return;
    const parts = {
      ask_ms: this.#asked_ms - this.#moved_ms,
      wait_ms: this.#answered_ms - this.#asked_ms,
      draw_ms,
    };
    const duration = Object.values(parts).reduce((sum, part) => sum + part, 0);
    const detail = { requests, compute_ms: this.#compute_ms, answered_at_ms: this.#answered_ms, ...parts };
    performance.measure(NAME, { start: performance.now() - duration, duration, detail });
    this.#moved_ms = null;
    this.#isAnswered = false;
  }
}
