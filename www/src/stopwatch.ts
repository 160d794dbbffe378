// Measures what a slider's move costs in script: handling the event, computing in the worker, taking the answer in,
// drawing. Waiting for the next frame is the screen's time and not counted. Read by the bench as performance measures.
import type { Answer } from './engine/protocol.js';

const NAME = 'servescope:slider-to-drawn';
const READY = 'servescope:ready';
/** More microtasks than an element inside an element inside an element needs. */
const HOPS = 24;

export class Stopwatch {
  #input_ms = 0;
  #moved = false;
  #compute_ms = 0;
  #answer_ms: number | null = null;

  /** Call first thing in the handler of a slider's event. */
  moved(): void {
    this.#moved = true;
    this.#answer_ms = null;
    void this.#timeTask((spent) => { this.#input_ms = spent; });
  }

  answered({ preview, compute_ms }: Answer): void {
    if (preview || !this.#moved) return;
    this.#compute_ms = compute_ms;
    this.#answer_ms = 0;
    void this.#timeTask((spent) => { this.#answer_ms = spent; });
  }

  /** The charts of a whole answer are on screen; the first time, the page is ready. */
  shown(): void {
    if (performance.getEntriesByName(READY).length === 0) performance.mark(READY);
  }

  drawn(script_ms: number, requests: number): void {
    if (this.#answer_ms === null) return;
    const parts = { input_ms: this.#input_ms, compute_ms: this.#compute_ms, answer_ms: this.#answer_ms, draw_ms: script_ms };
    const duration = Object.values(parts).reduce((sum, part) => sum + part, 0);
    performance.measure(NAME, { start: performance.now() - duration, duration, detail: { requests, ...parts } });
    this.#moved = false;
    this.#answer_ms = null;
  }

  /** Time from now until the elements that this task changes are drawn again, which lit does in microtasks. */
  async #timeTask(done: (spent: number) => void): Promise<void> {
    const from = performance.now();
    for (let hop = 0; hop < HOPS; hop += 1) await Promise.resolve();
    done(performance.now() - from);
  }
}
