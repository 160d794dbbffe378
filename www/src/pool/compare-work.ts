// Runs of a comparison in a thread of the pool.
import { Comparer } from '../../pkg/servescope.js';
import type { Task } from './pool-calls.js';
import type { Inputs } from '../simulation/inputs.js';
import type { Work } from './work.js';
import { buffersOf } from '../simulation/protocol.js';

type CompareTask = Extract<Task, { kind: 'measure' | 'seed' | 'pair' | 'metrics' }>;

/** A comparer with its trace and its profile. */
export class CompareWork {
  readonly #comparer = new Comparer();

  constructor({ trace, profile }: Inputs) {
    if (trace !== null) this.#comparer.load_columns(trace.name, trace.columns);
    if (profile !== null) this.#comparer.load_profile(profile.name, profile.text);
  }

  free(): void {
    this.#comparer.free();
  }

  of(task: CompareTask): Work {
    const comparer = this.#comparer;
    const advance = (): number => comparer.advance();
    if (task.kind === 'metrics') {
      return {
        begin: () => { comparer.begin(task.scenario, task.seed); },
        advance,
        finish: () => ({ value: comparer.finish_metrics([...task.metrics]), transfer: [] }),
      };
    }
    if (task.kind === 'measure') {
      return {
        begin: () => { comparer.begin(task.scenario, task.seed); },
        advance,
        finish: () => ({ value: comparer.finish(), transfer: [] }),
      };
    }
    if (task.kind === 'seed') {
      return {
        begin: () => { comparer.begin(task.scenario, task.seed); },
        advance,
        finish: () => ({ value: comparer.finish_seed(task.spans), transfer: [] }),
      };
    }
    return {
      begin: () => { comparer.begin_pair(task.a, task.b, task.seed); },
      advance,
      finish: () => {
        const value = comparer.finish_pair();
        return { value, transfer: buffersOf([...value.charts, ...value.charts_a, ...value.charts_b]) };
      },
    };
  }
}
