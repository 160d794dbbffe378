// The capacity search as tasks of the pool.
import type { Inputs } from '../simulation/inputs.js';
import { sharedPool } from '../pool/shared-pool.js';
import type { Given } from '../pool/worker-pool.js';
import type { CapacityChecked, CapacityEntry, CapacityGrid, Diagnostic, ScenarioPatch } from '../simulation/types.js';
import { Cancelled, Refusal } from '../simulation/worker-link.js';
import type { Found, Standings } from '../pool/capacity-calls.js';

export interface Listener {
  /** A configuration was searched, or cannot be. */
  found(place: number, result: Found | readonly Diagnostic[]): void;
  progress(place: number, fraction: number): void;
}

/** A configuration of the ranking with what the load needs of it. */
export interface Checking { place: number; scenario: ScenarioPatch; replicas: number; requests: number; missed: number | null }

export class CapacityTasks {
  readonly #pool = sharedPool();
  #under: readonly Given<unknown>[] = [];
  #job = 0;

  grid(scenario: ScenarioPatch): Promise<CapacityGrid> {
    return this.#pool.ask({ kind: 'grid', scenario });
  }

  standings(entries: CapacityEntry[]): Promise<Standings> {
    return this.#pool.ask({ kind: 'standings', entries });
  }

  /** Simulates what the ranking says that the load needs; those that were stopped have no result. */
  async check(asked: readonly Checking[], inputs: Inputs, checked: (place: number, result: CapacityChecked | readonly Diagnostic[]) => void): Promise<void> {
    const given = asked.map(({ place, scenario, replicas, requests, missed }) =>
      ({ place, task: this.#pool.give({ kind: 'check', scenario, replicas, requests, missed }, { priority: 'asked', inputs }) }));
    await this.#all(given, checked);
  }

  /** Searches every configuration; false when it was stopped, or a newer search began. */
  async search(configurations: readonly ScenarioPatch[], inputs: Inputs, listener: Listener): Promise<boolean> {
    this.stop();
    const job = this.#job;
    const given = configurations.map((scenario, place) => {
      const progress = (fraction: number): void => { if (job === this.#job) listener.progress(place, fraction); };
      return { place, task: this.#pool.give({ kind: 'search', scenario }, { priority: 'asked', inputs, progress }) };
    });
    await this.#all(given, (place, result) => { listener.found(place, result); });
    return job === this.#job;
  }

  async #all<Value>(given: readonly { place: number; task: Given<Value> }[], reported: (place: number, result: Value | readonly Diagnostic[]) => void): Promise<void> {
    const job = this.#job;
    this.#under = given.map(({ task }) => task);
    await Promise.all(given.map(async ({ place, task }) => {
      const result = await task.done.catch(refusalOf);
      if (job === this.#job && result !== null) reported(place, result);
    }));
  }

  stop(): void {
    this.#job += 1;
    for (const task of this.#under) task.cancel();
    this.#under = [];
  }
}

/** Why a task was refused; null where it was cancelled. */
function refusalOf(thrown: unknown): readonly Diagnostic[] | null {
  if (thrown instanceof Cancelled) return null;
  if (thrown instanceof Refusal) return thrown.errors;
  throw thrown;
}
