// The file that stands for the generated traffic, and the one that a link names before anybody has dropped it. The
// studio reads it, in a thread and with a module of its own that are fetched when the first file comes; the simulator
// gets columns.
import { Refusal, type Client } from '../engine/client.js';
import type { Failure, SourceInfo } from '../engine/types.js';
import type { StudioLink } from '../studio/studio-link.js';
import { Topic } from './topic.js';

export interface TraceListener {
  loaded(trace: SourceInfo): void;
  cleared(): void;
  refused(name: string, failures: Failure[]): void;
  cancelled(name: string): void;
  wanted(name: string): void;
}

export interface Loading { name: string; fraction: number }

export class TraceFile {
  readonly info = new Topic<SourceInfo | null>(null);
  readonly loading = new Topic<Loading | null>(null);
  #missing: string | null = null;
  #studio: Promise<StudioLink> | null = null;
  /** What the studio holds; a studio that died is given it again. */
  #held: File | null = null;

  constructor(private readonly ask: Client['ask'], private readonly listener: TraceListener) {}

  /** Goes into the address: the file in use, or the one that is waited for. */
  get name(): string | null {
    return this.info.value?.name ?? this.#missing;
  }

  expect(name: string | null): void {
    this.#missing = name === this.info.value?.name ? null : name;
    if (this.#missing !== null) this.listener.wanted(this.#missing);
  }

  studio(): Promise<StudioLink> {
    this.#studio ??= import('../studio/studio-link.js').then(({ StudioLink: Link }) => new Link(
      (fraction) => { if (this.loading.value !== null) this.loading.update({ fraction }); },
      () => { void this.#giveBack(); },
    ));
    return this.#studio;
  }

  async load(file: File): Promise<void> {
    const studio = await this.studio();
    // The newest file wins, as the newest scenario does.
    if (this.loading.value !== null) studio.cancel();
    this.loading.set({ name: file.name, fraction: 0 });
    try {
      const trace = await studio.call('open', { file });
      this.#held = file;
      await this.ask({ kind: 'load-trace', name: file.name, columns: await studio.call('columns', null) });
      this.#missing = null;
      this.info.set(trace);
      this.listener.loaded(trace);
    } catch (thrown) {
      if (thrown instanceof Refusal) this.listener.refused(file.name, thrown.failures);
      else if (isCancelled(thrown)) this.listener.cancelled(file.name);
      else throw thrown;
    } finally {
      if (this.loading.value?.name === file.name) this.loading.set(null);
    }
  }

  /** True when a file was being read. */
  async cancel(): Promise<boolean> {
    if (this.loading.value === null) return false;
    (await this.studio()).cancel();
    return true;
  }

  async clear(): Promise<void> {
    this.#held = null;
    await (await this.studio()).call('close', null);
    await this.ask({ kind: 'clear-trace' });
    this.#missing = null;
    this.info.set(null);
    this.listener.cleared();
  }

  async #giveBack(): Promise<void> {
    const file = this.#held;
    if (file === null) return;
    try {
      await (await this.studio()).call('open', { file });
    } catch {
      // It was read before; now the file on the disk is gone or another one. The simulator still has its columns.
      this.#held = null;
    }
  }
}

/** The class is part of what is fetched later, so its name stands for it. */
function isCancelled(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name === 'Cancelled';
}
