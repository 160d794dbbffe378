// Threads that simulate beside the one of the page: each takes the next task as soon as it is free. What a person asked for
// goes before what is done in idle time, and takes its place where no thread is free; that begins again later.
import { start } from '../simulation/start.js';
import { Cancelled, WorkerLink, type WorkerPort } from '../simulation/worker-link.js';
import { HOLDERS, type Holder, type Question, type QuestionResult, type Task, type TaskResult } from './pool-calls.js';
import type { Inputs } from '../simulation/inputs.js';

/** More threads than this find no more cores to run on in most machines. */
const MOST_THREADS = 8;
/** What all threads may hold of a trace: each has it in its module, and in its run. */
const MOST_BYTES = 768 * 1024 * 1024;
const COPIES_A_THREAD = 2;
/** A thread without work ends after this, and what it holds is free: the next task starts another. */
const REST_MS = 60_000;

/** `asked`: a person waits for it. `idle`: worth having when nothing else is to be done; it leaves one thread free. */
export type Priority = 'asked' | 'idle';

export interface TaskOptions {
  priority: Priority;
  /** Threads that have this object already do not get it again. */
  inputs: Inputs;
  progress?: (fraction: number) => void;
}

/** A task that was given to the pool. */
export interface Given<Value> {
  /** Rejected with `Refusal` where the task is refused or its thread dies, with `Cancelled` where it was cancelled. */
  done: Promise<Value>;
  cancel(): void;
}

interface Job {
  task: Task;
  options: TaskOptions;
  /** Whether it was let go. */
  isCancelled: boolean;
  resolve: (value: unknown) => void;
  reject: (reason: unknown) => void;
}

/** A thread, which starts with its first question, and again after its worker has died. */
class Seat {
  readonly link: WorkerLink;
  job: Job | null = null;
  /** Whether its task was stopped to make place. */
  yields = false;
  /** What its worker got last, and what in it holds that: it keeps no copy of its own. */
  #held: { inputs: Inputs; by: Holder } | null = null;
  #rest: ReturnType<typeof setTimeout> | undefined;

  constructor(spawn: () => WorkerPort) {
    this.link = new WorkerLink(spawn, { due: 'pool', first: () => [start()], lost: () => { this.#held = null; } });
  }

  work({ task, options: { inputs, progress } }: Job): Promise<unknown> {
    this.link.connect();
    const by = HOLDERS[task.kind];
    if (by !== null && (this.#held?.inputs !== inputs || this.#held.by !== by)) {
      this.link.tell({ kind: 'inputs', inputs });
      this.#held = { inputs, by };
    }
    return this.ask(task, progress);
  }

  async ask(question: Task | Question, progress?: (fraction: number) => void): Promise<unknown> {
    clearTimeout(this.#rest);
    try {
      return await this.link.ask(question, progress);
    } finally {
      clearTimeout(this.#rest);
      this.#rest = setTimeout(() => { if (!this.link.busy) this.link.end(new Cancelled()); }, REST_MS);
    }
  }

  stop(): void {
    this.link.tell({ kind: 'stop' });
  }
}

/** Of a trace, in memory. */
function bytesOf({ trace }: Inputs): number {
  const columns = Object.values(trace?.columns ?? {}) as ArrayBufferView[];
  return columns.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

export class WorkerPool {
  readonly #seats: Seat[] = [];
  readonly #waiting: Record<Priority, Job[]> = { asked: [], idle: [] };

  constructor(
    private readonly spawn: () => WorkerPort,
    private readonly size = Math.min(Math.max(navigator.hardwareConcurrency, 1), MOST_THREADS),
  ) {}

  /** Gives a task to the next thread that is free. */
  give<T extends Task>(task: T, options: TaskOptions): Given<TaskResult[T['kind']]> {
    let job: Job | undefined;
    const done = new Promise<unknown>((resolve, reject) => {
      job = { task, options, isCancelled: false, resolve, reject };
      this.#waiting[options.priority].push(job);
    });
    this.#next();
    return {
      done: done as Promise<TaskResult[T['kind']]>,
      cancel: () => { if (job !== undefined) this.#cancel(job); },
    };
  }

  /** Asks the first thread, whatever it works on. */
  ask<Q extends Question>(question: Q): Promise<QuestionResult[Q['kind']]> {
    return this.#seat(0).ask(question) as Promise<QuestionResult[Q['kind']]>;
  }

  #seat(place: number): Seat {
    return (this.#seats[place] ??= new Seat(this.spawn));
  }

  #cancel(job: Job): void {
    job.isCancelled = true;
    const waiting = this.#waiting[job.options.priority];
    const place = waiting.indexOf(job);
    if (place >= 0) {
      waiting.splice(place, 1);
      job.reject(new Cancelled());
    } else {
      this.#seats.find((seat) => seat.job === job)?.stop();
    }
  }

  #next(): void {
    const { asked, idle } = this.#waiting;
    for (;;) {
      const next = asked[0] ?? (this.#mayIdle ? idle[0] : undefined);
      if (next === undefined) return;
      const seat = this.#free(next.options.inputs);
      if (seat === null) break;
      this.#waiting[next.options.priority].shift();
      void this.#work(seat, next);
    }
    const leaving = this.#seats.filter(({ yields }) => yields).length;
    const idling = this.#seats.filter(({ job, yields }) => job?.options.priority === 'idle' && !yields);
    for (const seat of idling.slice(0, Math.max(asked.length - leaving, 0))) {
      seat.yields = true;
      seat.stop();
    }
  }

  /** A thread without work: one that is there, or one more. Only this many of them hold a large trace. */
  #free(inputs: Inputs): Seat | null {
    const most = Math.min(this.size, Math.max(1, Math.floor(MOST_BYTES / (COPIES_A_THREAD * bytesOf(inputs)))));
    for (let place = 0; place < most; place += 1) {
      const seat = this.#seat(place);
      if (seat.job === null) return seat;
    }
    return null;
  }

  get #mayIdle(): boolean {
    const busy = this.#seats.filter(({ job }) => job !== null).length;
    return busy < Math.max(this.size - 1, 1);
  }

  async #work(seat: Seat, job: Job): Promise<void> {
    seat.job = job;
    try {
      job.resolve(await seat.work(job));
    } catch (thrown) {
      if (thrown instanceof Cancelled && !job.isCancelled) this.#waiting[job.options.priority].unshift(job);
      else job.reject(thrown);
    } finally {
      seat.job = null;
      seat.yields = false;
      this.#next();
    }
  }
}
