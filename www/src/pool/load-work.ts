// The load of a setting, what makes its requests wait, and which of its parts it does not need, in a thread of the pool.
import { CauseFinder, LoadMeter, UnneededFinder } from '../../pkg/servescope.js';
import type { Inputs } from '../simulation/inputs.js';
import type { Task } from './pool-calls.js';
import type { Work } from './work.js';

type LoadTask = Extract<Task, { kind: 'load' | 'causes' | 'unneeded' }>;

const OF = { load: LoadMeter, causes: CauseFinder, unneeded: UnneededFinder } as const;

/** One of them with its trace and its profile. */
export class LoadWork {
  readonly #finder: LoadMeter | CauseFinder | UnneededFinder;

  constructor(kind: LoadTask['kind'], { trace, profile }: Inputs) {
    this.#finder = new OF[kind]();
    if (trace !== null) this.#finder.load_columns(trace.name, trace.columns);
    if (profile !== null) this.#finder.load_profile(profile.name, profile.text);
  }

  free(): void {
    this.#finder.free();
  }

  of({ scenario }: LoadTask): Work {
    const finder = this.#finder;
    return {
      begin: () => { finder.begin(scenario); },
      advance: () => finder.advance(),
      finish: () => ({ value: finder.finish() ?? null, transfer: [] }),
    };
  }
}
