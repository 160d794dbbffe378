// The load of a setting, and what makes its requests wait, in a thread of the pool.
import { CauseFinder, LoadMeter } from '../../pkg/servescope.js';
import type { Inputs, Task } from '../pool/pool-calls.js';
import type { Work } from '../pool/work.js';

type LoadTask = Extract<Task, { kind: 'load' | 'causes' }>;

/** Both with their trace and their profile. */
export class LoadWork {
  readonly #meter = new LoadMeter();
  readonly #finder = new CauseFinder();

  constructor({ trace, profile }: Inputs) {
    for (const one of [this.#meter, this.#finder]) {
      if (trace !== null) one.load_columns(trace.name, trace.columns);
      if (profile !== null) one.load_profile(profile.name, profile.text);
    }
  }

  free(): void {
    this.#meter.free();
    this.#finder.free();
  }

  of({ kind, scenario }: LoadTask): Work {
    const one = kind === 'load' ? this.#meter : this.#finder;
    return {
      begin: () => { one.begin(scenario); },
      advance: () => one.advance(),
      finish: () => ({ value: one.finish() ?? null, transfer: [] }),
    };
  }
}
