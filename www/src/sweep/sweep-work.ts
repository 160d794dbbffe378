// Runs of a sweep in a thread of the pool.
import { Sweeper } from '../../pkg/servescope.js';
import type { Inputs, Task } from '../pool/pool-calls.js';
import type { Work } from '../pool/work.js';
import type { SweepPlan } from '../simulation/types.js';

type SweepTask = Extract<Task, { kind: 'sweep_plan' | 'sweep_run' }>;

/** A sweeper with its trace and its profile. */
export class SweepWork {
  readonly #sweeper = new Sweeper();

  constructor({ trace, profile }: Inputs) {
    if (trace !== null) this.#sweeper.load_columns(trace.name, trace.columns);
    if (profile !== null) this.#sweeper.load_profile(profile.name, profile.text);
  }

  free(): void {
    this.#sweeper.free();
  }

  of(task: SweepTask): Work {
    const sweeper = this.#sweeper;
    if (task.kind === 'sweep_run') {
      return {
        begin: () => { sweeper.begin(task.spec, task.index); },
        advance: () => sweeper.advance(),
        finish: () => ({ value: sweeper.finish(), transfer: [] }),
      };
    }
    let plan: SweepPlan | undefined;
    return {
      begin: () => { plan = sweeper.plan(task.spec); },
      advance: () => 1,
      finish: () => {
        if (plan === undefined) throw new Error('finished before it began');
        return { value: plan, transfer: [] };
      },
    };
  }
}
