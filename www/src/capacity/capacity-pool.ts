// The threads of the capacity search: each takes the next configuration as soon as it is free.
import { start } from '../simulation/start.js';
import type { CapacityChecked, CapacityEntry, CapacityGrid, CapacityLoad, Failure, ScenarioPatch } from '../simulation/types.js';
import { Cancelled, Refusal, WorkerLink } from '../simulation/worker-link.js';
import { ownProfile } from '../profile/profile-own.js';
import type { Found, Played, Standings, ToSearcher } from './capacity-calls.js';

/** More threads than this find no more cores to run on in most machines. */
const MOST_THREADS = 8;

export class Thread {
  /** A worker that takes the place of one that died is told it again. */
  #trace: Extract<ToSearcher, { kind: 'trace' }> | null = null;
  readonly #link = new WorkerLink(
    () => new Worker(new URL('./capacity-worker.ts', import.meta.url), { type: 'module' }),
    { first: () => (this.#trace === null ? [start()] : [start(), this.#trace]) },
  );

  grid(scenario: ScenarioPatch): Promise<CapacityGrid> {
    return this.#link.ask({ kind: 'grid', scenario }) as Promise<CapacityGrid>;
  }

  search(scenario: ScenarioPatch, progress: (fraction: number) => void): Promise<Found> {
    return this.#link.ask({ kind: 'search', scenario }, progress) as Promise<Found>;
  }

  /** Null where no rate meets the goal. */
  load(scenario: ScenarioPatch): Promise<CapacityLoad | null> {
    return this.#link.ask({ kind: 'load', scenario }) as Promise<CapacityLoad | null>;
  }

  check(scenario: ScenarioPatch, replicas: number, requests: number): Promise<CapacityChecked> {
    return this.#link.ask({ kind: 'check', scenario, replicas, requests }) as Promise<CapacityChecked>;
  }

  standings(entries: CapacityEntry[]): Promise<Standings> {
    return this.#link.ask({ kind: 'standings', entries }) as Promise<Standings>;
  }

  play(trace: Extract<ToSearcher, { kind: 'trace' }>): void {
    this.#trace = trace;
    this.#link.tell(trace);
  }

  stop(): void {
    this.#link.tell({ kind: 'stop' } satisfies ToSearcher);
  }
}

export interface Listener {
  /** A configuration was searched, or cannot be. */
  found(place: number, result: Found | readonly Failure[]): void;
  progress(place: number, fraction: number): void;
}

/** A configuration of the ranking with what the load needs of it. */
export interface Checking { place: number; scenario: ScenarioPatch; replicas: number; requests: number }

export class CapacityPool {
  readonly #threads: Thread[] = [];
  #job = 0;

  constructor(private readonly size = Math.min(Math.max(navigator.hardwareConcurrency, 1), MOST_THREADS)) {}

  get #first(): Thread {
    return this.#thread(0);
  }

  #thread(place: number): Thread {
    const known = this.#threads[place];
    if (known !== undefined) return known;
    const thread = new Thread();
    this.#threads[place] = thread;
    return thread;
  }

  grid(scenario: ScenarioPatch): Promise<CapacityGrid> {
    return this.#first.grid(scenario);
  }

  standings(entries: CapacityEntry[]): Promise<Standings> {
    return this.#first.standings(entries);
  }

  /** Simulates one after the other what the ranking says that the load needs; those that were stopped have no result. */
  async check(asked: readonly Checking[], checked: (place: number, result: CapacityChecked | readonly Failure[]) => void): Promise<void> {
    const job = this.#job;
    for (const { place, scenario, replicas, requests } of asked) {
      try {
        const result = await this.#first.check(scenario, replicas, requests);
        if (job === this.#job) checked(place, result);
      } catch (thrown) {
        if (thrown instanceof Cancelled) return;
        if (!(thrown instanceof Refusal)) throw thrown;
        if (job === this.#job) checked(place, thrown.failures);
      }
      if (job !== this.#job) return;
    }
  }

  /** Searches every configuration; false when it was stopped, or a newer search began. */
  async search(configurations: readonly ScenarioPatch[], trace: Played | null, listener: Listener): Promise<boolean> {
    this.stop();
    const job = this.#job;
    let next = 0;
    const work = async (thread: Thread): Promise<void> => {
      thread.play({ kind: 'trace', trace, profile: ownProfile.value });
      for (let place = next++; place < configurations.length && job === this.#job; place = next++) {
        const scenario = configurations[place] ?? {};
        const at = place;
        try {
          const found = await thread.search(scenario, (fraction) => { if (job === this.#job) listener.progress(at, fraction); });
          if (job === this.#job) listener.found(place, found);
        } catch (thrown) {
          if (thrown instanceof Cancelled) return;
          if (!(thrown instanceof Refusal)) throw thrown;
          if (job === this.#job) listener.found(place, thrown.failures);
        }
      }
    };
    const count = Math.min(this.size, configurations.length);
    await Promise.all(Array.from({ length: count }, (_, place) => work(this.#thread(place))));
    return job === this.#job;
  }

  stop(): void {
    this.#job += 1;
    for (const thread of this.#threads) thread.stop();
  }
}
