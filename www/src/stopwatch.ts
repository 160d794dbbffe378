// Measures what a slider's move costs in script: handling the event, computing in the worker, taking the answer in,
// drawing. Waiting for the next frame is the screen's time and not counted. Read by the bench as performance measures.
import type { Answer } from './engine/protocol.js';

const NAME = 'servescope:slider-to-drawn';

export class Stopwatch {
  #input_ms = 0;
  #moved = false;
  #compute_ms = 0;
  #answer_ms: number | null = null;

  /** Call first thing in the handler of a slider's event. */
  moved(): void {
    this.#moved = true;
    this.#answer_ms = null;
    this.#timeTask((spent) => { this.#input_ms = spent; });
  }

  answered({ preview, compute_ms }: Answer): void {
    if (preview || !this.#moved) return;
    this.#compute_ms = compute_ms;
    this.#answer_ms = 0;
    this.#timeTask((spent) => { this.#answer_ms = spent; });
  }

  drawn(script_ms: number, requests: number): void {
    if (this.#answer_ms === null) return;
    const duration = this.#input_ms + this.#compute_ms + this.#answer_ms + script_ms;
    performance.measure(NAME, { start: performance.now() - duration, duration, detail: { requests } });
    this.#moved = false;
    this.#answer_ms = null;
  }

  /** Time from now until this task and its microtasks, elements drawn again included, are over. */
  #timeTask(done: (spent: number) => void): void {
    const from = performance.now();
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      channel.port1.close();
      done(performance.now() - from);
    };
    channel.port2.postMessage(null);
  }
}
