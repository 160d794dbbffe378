// Measures what a slider's move costs: until the worker is asked, until its answer is here, taking the answer in (the
// controls are drawn anew with it), drawing. Waiting for the next frame is the screen's time and not counted. Read by the
// bench as performance measures.
import type { Answer } from './simulation/protocol.js';

const NAME = 'servescope:slider-to-drawn';
const READY = 'servescope:ready';
/** More microtasks than an element inside an element inside an element needs. */
const HOPS = 24;

export class Stopwatch {
  /** When the slider was moved, and when the worker was asked. */
  #moved_ms: number | null = null;
  #asked_ms = 0;
  #answered_ms = 0;
  #compute_ms = 0;
  #answer_ms: number | null = null;

  /** Call first thing in the handler of a slider's event. */
  moved(): void {
    this.#moved_ms = performance.now();
    this.#answer_ms = null;
  }

  asked(): void {
    this.#asked_ms = performance.now();
  }

  answered({ preview, compute_ms }: Answer): void {
    if (preview || this.#moved_ms === null) return;
    this.#answered_ms = performance.now();
    this.#compute_ms = compute_ms;
    this.#answer_ms = 0;
    void this.#timeTask((spent) => { this.#answer_ms = spent; });
  }

  /** The charts of a whole answer are on screen; the first time, the page is ready. */
  shown(): void {
    if (performance.getEntriesByName(READY).length === 0) performance.mark(READY);
  }

  drawn(draw_ms: number, requests: number): void {
    if (this.#answer_ms === null || this.#moved_ms === null) return;
    const parts = {
      ask_ms: this.#asked_ms - this.#moved_ms,
      wait_ms: this.#answered_ms - this.#asked_ms,
      answer_ms: this.#answer_ms,
      draw_ms,
    };
    const duration = Object.values(parts).reduce((sum, part) => sum + part, 0);
    const detail = { requests, compute_ms: this.#compute_ms, ...parts };
    performance.measure(NAME, { start: performance.now() - duration, duration, detail });
    this.#moved_ms = null;
    this.#answer_ms = null;
  }

  /** Time from now until the elements that this task changes are drawn again, which lit does in microtasks. */
  async #timeTask(done: (spent: number) => void): Promise<void> {
    const from = performance.now();
    for (let hop = 0; hop < HOPS; hop += 1) await Promise.resolve();
    done(performance.now() - from);
  }
}
