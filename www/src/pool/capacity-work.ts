// Tasks of the capacity search in a thread of the pool.
import { CapacitySearch } from '../../pkg/servescope.js';
import type { Task } from './pool-calls.js';
import type { Inputs } from '../simulation/inputs.js';
import type { Work } from './work.js';
import { buffersOf } from '../simulation/protocol.js';

type CapacityTask = Extract<Task, { kind: 'search' | 'slo' | 'check' }>;

/** A searcher with its trace and its profile. */
export class CapacityWork {
  readonly #searcher = new CapacitySearch();

  constructor({ trace, profile }: Inputs) {
    if (trace !== null) this.#searcher.load_columns(trace.name, trace.columns);
    if (profile !== null) this.#searcher.load_profile(profile.name, profile.text);
  }

  free(): void {
    this.#searcher.free();
  }

  of(task: CapacityTask): Work {
    const searcher = this.#searcher;
    const advance = (): number => searcher.advance();
    switch (task.kind) {
      case 'search': return {
        begin: () => { searcher.begin(task.scenario); },
        advance,
        finish: () => {
          const value = searcher.finish();
          return { value, transfer: buffersOf(value.charts) };
        },
      };
      case 'slo': return {
        begin: () => { searcher.begin_slo(task.scenario); },
        advance,
        finish: () => ({ value: searcher.finish_slo() ?? null, transfer: [] }),
      };
      case 'check': return {
        begin: () => { searcher.begin_check(task.scenario, task.replicas, task.requests, task.missed ?? undefined); },
        advance: () => searcher.advance_check(),
        finish: () => ({ value: searcher.finish_check() ?? null, transfer: [] }),
      };
    }
  }
}
