// The page's end of the studio's worker. Cancelling ends the worker: reading a file cannot be interrupted otherwise.
import { Refusal } from '../engine/client.js';
import { lostWorker } from '../engine/fetched.js';
import type { CallName, FromStudio, StudioCalls } from './studio-calls.js';

/** The question was taken back. */
export class Cancelled extends Error {
  override name = 'Cancelled';
}

interface Pending { resolve: (value: unknown) => void; reject: (reason: Error) => void }

export class StudioLink {
  #worker: Worker | null = null;
  #ticket = 0;
  readonly #pending = new Map<number, Pending>();

  /** `lost` hears that the worker has forgotten its source. */
  constructor(private readonly progress: (fraction: number) => void, private readonly lost: () => void) {}

  async call<K extends CallName>(call: K, args: StudioCalls[K]['args']): Promise<StudioCalls[K]['reply']> {
    this.#worker ??= this.#spawn();
    this.#ticket += 1;
    const ticket = this.#ticket;
    const reply = new Promise((resolve, reject) => { this.#pending.set(ticket, { resolve, reject }); });
    this.#worker.postMessage({ ticket, call, args });
    return (await reply) as StudioCalls[K]['reply'];
  }

  /** Whether a question waits for its answer. */
  get busy(): boolean {
    return this.#pending.size > 0;
  }

  cancel(): void {
    if (this.busy) this.#end(new Cancelled());
  }

  #spawn(): Worker {
    const worker = new Worker(new URL('./studio-worker.ts', import.meta.url), { type: 'module' });
    worker.onmessage = ({ data }: MessageEvent<FromStudio>) => { this.#receive(data); };
    worker.onerror = (event: Partial<ErrorEvent>) => { this.#died(event.message); };
    return worker;
  }

  #receive(message: FromStudio): void {
    switch (message.kind) {
      case 'progress': this.progress(message.fraction); return;
      case 'reply': this.#take(message.ticket)?.resolve(message.value); return;
      case 'refused': this.#take(message.ticket)?.reject(new Refusal(message.failures)); return;
      case 'died': this.#died(message.message);
    }
  }

  #take(ticket: number): Pending | undefined {
    const pending = this.#pending.get(ticket);
    this.#pending.delete(ticket);
    return pending;
  }

  #died(message: string | undefined): void {
    this.#end(new Refusal([lostWorker(message)]));
  }

  #end(reason: Error): void {
    this.#worker?.terminate();
    this.#worker = null;
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of pending) reject(reason);
    this.lost();
  }
}
