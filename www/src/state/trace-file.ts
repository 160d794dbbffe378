// The file that stands for the generated traffic, and the one that a link names before anybody has dropped it.
import { Refusal, type Client } from '../engine/client.js';
import type { Failure, TraceInfo } from '../engine/types.js';
import { Topic } from './topic.js';

export interface TraceListener {
  loaded(trace: TraceInfo): void;
  cleared(): void;
  refused(name: string, failures: Failure[]): void;
  wanted(name: string): void;
}

export class TraceFile {
  readonly info = new Topic<TraceInfo | null>(null);
  #missing: string | null = null;

  constructor(private readonly ask: Client['ask'], private readonly listener: TraceListener) {}

  /** Goes into the address: the file in use, or the one that is waited for. */
  get name(): string | null {
    return this.info.value?.name ?? this.#missing;
  }

  expect(name: string | null): void {
    this.#missing = name === this.info.value?.name ? null : name;
    if (this.#missing !== null) this.listener.wanted(this.#missing);
  }

  async load(file: File): Promise<void> {
    const bytes = new Uint8Array(await file.arrayBuffer());
    try {
      const trace = await this.ask({ kind: 'load-trace', name: file.name, bytes });
      this.#missing = null;
      this.info.set(trace);
      this.listener.loaded(trace);
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown;
      this.listener.refused(file.name, thrown.failures);
    }
  }

  async clear(): Promise<void> {
    await this.ask({ kind: 'clear-trace' });
    this.#missing = null;
    this.info.set(null);
    this.listener.cleared();
  }
}
