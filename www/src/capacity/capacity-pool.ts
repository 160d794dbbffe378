// The threads of the capacity search: each takes the next configuration as soon as it is free.
import { Refusal } from '../engine/client.js';
import { lostWorker } from '../engine/fetched.js';
import { start } from '../engine/start.js';
import type { CapacityEntry, CapacityGrid, Failure, ScenarioPatch } from '../engine/types.js';
import { ownProfile } from '../profile/profile-own.js';
import type { Found, FromSearcher, Played, Standings, ToSearcher } from './capacity-calls.js';

/** More threads than this find no more cores to run on in most machines. */
const MOST_THREADS = 8;

/** The search was let go. */
export class Stopped extends Error {
  override name = 'Stopped';
}

interface Pending { resolve: (value: unknown) => void; reject: (reason: Error) => void; progress: (fraction: number) => void }

export class Thread {
  #worker: Worker | null = null;
  /** A worker that takes the place of one that died is told it again. */
  #trace: Extract<ToSearcher, { kind: 'trace' }> | null = null;
  #ticket = 0;
  readonly #pending = new Map<number, Pending>();

  ask(message: Omit<Extract<ToSearcher, { kind: 'grid' }>, 'ticket'>): Promise<CapacityGrid>;
  ask(message: Omit<Extract<ToSearcher, { kind: 'search' }>, 'ticket'>, progress: (fraction: number) => void): Promise<Found>;
  ask(message: Omit<Extract<ToSearcher, { kind: 'standings' }>, 'ticket'>): Promise<Standings>;
  ask(message: object, progress: (fraction: number) => void = () => undefined): Promise<unknown> {
    this.#ticket += 1;
    const ticket = this.#ticket;
    const reply = new Promise((resolve, reject) => { this.#pending.set(ticket, { resolve, reject, progress }); });
    (this.#worker ??= this.#spawn()).postMessage({ ...message, ticket });
    return reply;
  }

  play(trace: Extract<ToSearcher, { kind: 'trace' }>): void {
    this.#trace = trace;
    if (this.#worker === null) this.#worker = this.#spawn();
    else this.#worker.postMessage(trace);
  }

  stop(): void {
    this.#worker?.postMessage({ kind: 'stop' } satisfies ToSearcher);
  }

  #spawn(): Worker {
    const worker = new Worker(new URL('./capacity-worker.ts', import.meta.url), { type: 'module' });
    worker.onmessage = ({ data }: MessageEvent<FromSearcher>) => { this.#receive(data); };
    worker.onerror = (event: Partial<ErrorEvent>) => { this.#died(event.message); };
    worker.postMessage(start());
    if (this.#trace !== null) worker.postMessage(this.#trace);
    return worker;
  }

  #receive(message: FromSearcher): void {
    const pending = this.#pending.get(message.ticket);
    if (message.kind === 'progress') {
      pending?.progress(message.fraction);
      return;
    }
    this.#pending.delete(message.ticket);
    switch (message.kind) {
      case 'reply': pending?.resolve(message.value); return;
      case 'refused': pending?.reject(new Refusal(message.failures)); return;
      case 'stopped': pending?.reject(new Stopped());
    }
  }

  /** The next question starts another: one at once would end as this one did, and again, where its script is out of reach. */
  #died(message: string | undefined): void {
    this.#worker?.terminate();
    this.#worker = null;
    for (const { reject } of this.#pending.values()) reject(new Refusal([lostWorker(message)]));
    this.#pending.clear();
  }
}

export interface Listener {
  /** A configuration was searched, or cannot be. */
  found(place: number, result: Found | readonly Failure[]): void;
  progress(place: number, fraction: number): void;
}

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
    return this.#first.ask({ kind: 'grid', scenario });
  }

  standings(entries: CapacityEntry[]): Promise<Standings> {
    return this.#first.ask({ kind: 'standings', entries });
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
          const found = await thread.ask({ kind: 'search', scenario }, (fraction) => { if (job === this.#job) listener.progress(at, fraction); });
          if (job === this.#job) listener.found(place, found);
        } catch (thrown) {
          if (thrown instanceof Stopped) return;
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
