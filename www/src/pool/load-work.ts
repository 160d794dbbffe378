// The load of a setting, what makes its requests wait, and which of its parts it does not need, in a thread of the pool.
import { CauseFinder, LoadMeter, UnneededFinder } from '../../pkg/servescope.js';
import type { Task } from './pool-calls.js';
import type { Inputs } from '../simulation/inputs.js';
import type { Work } from './work.js';

type LoadTask = Extract<Task, { kind: 'load' | 'causes' | 'unneeded' }>;

const OF = { load: LoadMeter, causes: CauseFinder, unneeded: UnneededFinder } as const;

type Finder = LoadMeter | CauseFinder | UnneededFinder;

/** One of them with its trace and its profile; the others let go of them, since a trace may be large. */
export class LoadWork {
  #kind: LoadTask['kind'] | null = null;
  #worker: Finder | null = null;

  constructor(private readonly inputs: Inputs) {}

  free(): void {
    this.#worker?.free();
    this.#worker = null;
  }

  of({ kind, scenario }: LoadTask): Work {
    const worker = this.#of(kind);
    return {
      begin: () => { worker.begin(scenario); },
      advance: () => worker.advance(),
      finish: () => ({ value: worker.finish() ?? null, transfer: [] }),
    };
  }

  #of(kind: LoadTask['kind']): Finder {
    if (this.#worker !== null && this.#kind === kind) return this.#worker;
    this.free();
    const { trace, profile } = this.inputs;
    const worker = new OF[kind]();
    if (trace !== null) worker.load_columns(trace.name, trace.columns);
    if (profile !== null) worker.load_profile(profile.name, profile.text);
    this.#kind = kind;
    this.#worker = worker;
    return worker;
  }
}
