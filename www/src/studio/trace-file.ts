// The traffic that stands for the generated one: files, what steps make of them, and the file that a link names before
// anybody has dropped it. The studio reads and changes it, in a thread and with a module of its own that are fetched when
// the first file comes; the simulator gets columns.
import type { Ask } from '../simulation/client.js';
import { Refusal } from '../simulation/worker-link.js';
import type { Diagnostic, Shaped, SourceInfo } from '../simulation/types.js';
import type { StudioLink } from './studio-link.js';
import { Topic } from '../lib/topic.js';
import type { Pipe, Reading, Traffic } from '../state/traffic.js';
import { part } from '../lib/part.js';

export interface TraceListener {
  loaded(trace: SourceInfo): void;
  /** Other traffic than before; the same `hand` again while one thing is changed. */
  changed(hand: string): void;
  refused(name: string, errors: Diagnostic[]): void;
  cancelled(name: string): void;
}

export interface Loading { name: string; fraction: number }
/** A file that was refused, and that may be read in another way. */
export interface Refused { file: File; add: boolean; errors: readonly Diagnostic[] }
type Held = Traffic['files'];

const PLAIN: Reading = { mapping: '', leaveOut: false, anyOutput: 0 };
const NO_STEPS: Pipe = { join: 'concat', steps: [] };

export class TraceFile {
  /** What is simulated in place of generated requests. */
  readonly info = new Topic<SourceInfo | null>(null);
  /** What the steps start from. */
  readonly sources = new Topic<readonly SourceInfo[]>([]);
  readonly loading = new Topic<Loading | null>(null);
  readonly pipe = new Topic<Pipe>(NO_STEPS);
  readonly notes = new Topic<Shaped['notes']>([]);
  readonly refused = new Topic<Refused | null>(null);
  /** Why a step was refused. */
  readonly refusal = new Topic<Diagnostic | null>(null);
  /** The file that a link names and that is not open yet. */
  readonly missing = new Topic<string | null>(null);
  #studio: Promise<StudioLink> | null = null;
  /** The files that the studio holds; a studio that died is given them again. */
  #held: Held = [];
  #shaping = false;
  /** Counts the files that were to be read. */
  #reading = 0;
  /** Done when a studio that died has its files again. */
  #restored: Promise<void> = Promise.resolve();

  constructor(private readonly ask: Ask, private readonly listener: TraceListener) {}

  /** How the files were read, in their order. */
  get readings(): readonly Reading[] {
    return this.#held;
  }

  /** Goes into the address: the file that is waited for, or the one in use. */
  get name(): string | null {
    return this.missing.value ?? this.#inUse;
  }

  /** What was generated or drawn here is in no file that could be opened again. */
  get #inUse(): string | null {
    const [source] = this.sources.value;
    return source === undefined || source.format === '' ? null : source.name;
  }

  expect(name: string | null): void {
    this.missing.set(name === this.#inUse ? null : name);
  }

  get traffic(): Traffic {
    return { info: this.info.value, files: this.#held, pipe: this.pipe.value };
  }

  /** Takes up traffic that was there before. */
  async takeUp({ info, files, pipe }: Traffic): Promise<void> {
    if (info === null) await this.clear();
    else if (files === this.#held) await this.reshape(pipe);
    else {
      this.pipe.set(pipe);
      for (const [place, { file, ...reading }] of files.entries()) await this.load(file, place > 0, reading);
    }
  }

  studio(): Promise<StudioLink> {
    this.#studio ??= part(() => import('./studio-link.js')).then(({ StudioLink: Link }) => new Link(
      (fraction) => { if (this.loading.value !== null) this.loading.update({ fraction }); },
      () => { this.#restored = this.#giveBack(); },
    )).catch((thrown: unknown) => {
      this.#studio = null;
      throw thrown;
    });
    return this.#studio;
  }

  async load(file: File, add = false, reading: Reading = PLAIN): Promise<void> {
    const studio = await this.studio();
    // The newest file wins, as the newest scenario does.
    if (this.loading.value !== null) studio.cancel();
    this.#reading += 1;
    const turn = this.#reading;
    this.loading.set({ name: file.name, fraction: 0 });
    this.refused.set(null);
    try {
      // What a new studio is given again must not come after the file.
      await this.#restored;
      if (turn !== this.#reading) {
        this.listener.cancelled(file.name);
        return;
      }
      const source = await studio.call('open', { file, add, ...reading });
      await this.take(source, add, add ? [...this.#held, { file, ...reading }] : [{ file, ...reading }]);
    } catch (thrown) {
      if (thrown instanceof Refusal) {
        this.refused.set({ file, add, errors: thrown.errors });
        this.listener.refused(file.name, thrown.errors);
      } else if (isCancelled(thrown)) this.listener.cancelled(file.name);
      else throw thrown;
    } finally {
      if (this.loading.value?.name === file.name) this.loading.set(null);
    }
  }

  /** Reads every file once more, with another output length where a file has none; 0 = the median of the file's. */
  async assume(anyOutput: number): Promise<void> {
    for (const [place, { file, ...reading }] of this.#held.entries()) await this.load(file, place > 0, { ...reading, anyOutput });
  }

  /** Takes over what the studio holds as a source now; what is no file cannot be given again to a studio that died. */
  async take(source: SourceInfo, add = false, files: Held = []): Promise<void> {
    this.refused.set(null);
    const former = this.sources.value;
    this.sources.set(add ? [...former, source] : [source]);
    try {
      await this.#shape(source);
    } catch (thrown) {
      // Cancelled on its way to the simulator, which still has the former one.
      this.sources.set(former);
      throw thrown;
    }
    this.#held = files;
    this.missing.set(null);
    this.listener.loaded(source);
  }

  /** Takes other steps; while the studio is at work only the newest are kept. */
  async reshape(pipe: Pipe): Promise<void> {
    this.pipe.set(pipe);
    if (this.#shaping || this.sources.value.length === 0) return;
    this.#shaping = true;
    try {
      for (let done: Pipe | null = null; done !== this.pipe.value;) {
        done = this.pipe.value;
        await this.#shapeAgain();
        this.listener.changed('steps');
      }
    } finally {
      this.#shaping = false;
    }
  }

  /**
   * The studio ends when another file is no longer to be read, and a simulator may die: both are there again at once, so
   * what they were asked meanwhile is asked once more.
   */
  async #shapeAgain(): Promise<void> {
    for (let last = false; ; last = true) {
      try {
        await this.#shape(null);
        return;
      } catch (thrown) {
        if (!last && (thrown instanceof Refusal || isCancelled(thrown))) continue;
        if (thrown instanceof Refusal) this.refusal.set(thrown.errors[0] ?? null);
        else if (!isCancelled(thrown)) throw thrown;
        return;
      }
    }
  }

  /** What the steps make of the sources goes to the simulator; `fresh` is what the studio has just opened. */
  async #shape(fresh: SourceInfo | null): Promise<void> {
    const studio = await this.studio();
    await this.#restored;
    const { join, steps } = this.pipe.value;
    let info = fresh;
    if (fresh === null || steps.length > 0 || this.sources.value.length > 1) {
      try {
        const shaped = await studio.call('apply_pipeline', { join, steps: [...steps] });
        info = shaped.info;
        this.notes.set(shaped.notes);
        this.refusal.set(null);
      } catch (thrown) {
        if (!(thrown instanceof Refusal)) throw thrown;
        const refusal = thrown.errors[0] ?? null;
        this.refusal.set(refusal);
        // What later steps have reported was of a trace that no longer comes to them.
        const refused = Number(/^steps\.(\d+)/.exec(refusal?.path ?? '')?.[1] ?? 0);
        this.notes.set(this.notes.value.slice(0, refused + Number(this.sources.value.length > 1)));
      }
    }
    if (info === null) return;
    await this.ask({ kind: 'load-trace', name: info.name, columns: await studio.call('columns', null) });
    this.info.set(info);
  }

  /** True when a file was being read. */
  async cancel(): Promise<boolean> {
    if (this.loading.value === null) return false;
    this.#reading += 1;
    (await this.studio()).cancel();
    return true;
  }

  async clear(): Promise<void> {
    this.#held = [];
    const studio = await this.studio();
    await this.ask({ kind: 'clear-trace' });
    // Nothing may come between: as long as `info` says that there is a trace, the studio has it.
    const closed = studio.call('close', null);
    this.missing.set(null);
    this.refused.set(null);
    this.sources.set([]);
    this.notes.set([]);
    this.refusal.set(null);
    this.info.set(null);
    await closed;
    this.listener.changed('file');
  }

  /** The simulator still has its columns. What was no file, or is no longer there, cannot be changed any more. */
  async #giveBack(): Promise<void> {
    const studio = await this.studio();
    try {
      for (const [place, held] of this.#held.entries()) await studio.call('open', { ...held, add: place > 0 });
      const { join, steps } = this.pipe.value;
      if (this.#held.length > 1 || steps.length > 0) await studio.call('apply_pipeline', { join, steps: [...steps] });
    } catch (thrown) {
      // Where it was ended once more, the next one is given them.
      if (!isCancelled(thrown)) this.#held = [];
    }
  }
}

/** The class is part of what is fetched later, so its name stands for it. */
function isCancelled(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name === 'Cancelled';
}
