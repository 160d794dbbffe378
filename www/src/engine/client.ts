// The page's end of the worker: the latest wish wins, one run is in flight, late answers are dropped by their revision,
// and a worker that dies is started again with the last wish, and with the trace and the profile it held.
import { lostWorker } from './fetched.js';
import type { Answer, FromWorker, Query, QueryResult, ToWorker } from './protocol.js';
import { previewOf, type Cost } from './preview.js';
import type { Start } from './start.js';
import type { ChartData, Failure, FittedProfile, RunOptions, ScenarioPatch, TraceColumns } from './types.js';

export interface WorkerPort {
  postMessage(message: ToWorker): void;
  terminate(): void;
  onmessage: ((event: MessageEvent<FromWorker>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
}

export interface Wish {
  scenario: ScenarioPatch;
  /** Every value, defaults included: how long the run may take is read from them. */
  values: ScenarioPatch;
  options: RunOptions;
}

export interface Listener {
  /** `last` is false when a newer wish is on its way. */
  answer(answer: Answer, last: boolean): void;
  /** The charts of the last answer that were out of sight. */
  others(charts: ChartData[]): void;
  progress(fraction: number): void;
  failed(failures: Failure[]): void;
  cancelled(): void;
  /** The worker died and was started again. */
  restarted(why: Failure): void;
}

/** A question that the worker refused, with its reasons. */
export class Refusal extends Error {
  constructor(readonly failures: Failure[]) {
    super(failures.map((failure) => failure.message).join('; '));
  }
}

interface Pending { resolve(value: unknown): void; reject(reason: Refusal): void }

/** A run younger than this is let through: a drag that ends every run before its answer would show nothing at all. */
const LET_FINISH_MS = 150;
/** A wish that kills two workers in a row is not tried a third time. */
const TRIES = 2;

export class Client {
  #worker: WorkerPort;
  #start: Start | null = null;
  #revision = 0;
  #flying: Wish | null = null;
  #next: Wish | null = null;
  #overdue: ReturnType<typeof setTimeout> | null = null;
  /** The run in flight may be ended by a newer wish. */
  #mayEnd = true;
  #cost: Cost | null = null;
  /** The last wish that was answered in full, and whether a preview of a later one stands in its place. */
  #answered: Wish | null = null;
  #previewed = false;
  #ticket = 0;
  readonly #pending = new Map<number, Pending>();
  #trace: { name: string; columns: TraceColumns } | null = null;
  #profile: Pick<FittedProfile, 'name' | 'text'> | null = null;
  #deaths = 0;

  constructor(private readonly spawn: () => WorkerPort, private readonly listener: Listener) {
    this.#worker = this.#connect();
  }

  start(start: Start): void {
    this.#start = start;
    this.#worker.postMessage(start);
  }

  run(wish: Wish): void {
    this.#next = wish;
    if (this.#flying === null || this.#mayEnd) this.#send();
  }

  /** Ends the run in progress; the last answer stays. */
  cancel(): void {
    this.#next = null;
    if (this.#flying !== null) this.#worker.postMessage({ kind: 'cancel' });
  }

  async ask<K extends Query['kind']>(query: Extract<Query, { kind: K }>): Promise<QueryResult[K]> {
    this.#ticket += 1;
    const ticket = this.#ticket;
    const reply = new Promise((resolve, reject) => { this.#pending.set(ticket, { resolve, reject }); });
    this.#worker.postMessage({ kind: 'query', ticket, query });
    const value = await reply;
    this.#remember(query);
    return value as QueryResult[K];
  }

  /** What a worker that is started again must be given again. */
  #remember(query: Query): void {
    switch (query.kind) {
      case 'load-trace': this.#trace = { name: query.name, columns: query.columns }; return;
      case 'clear-trace': this.#trace = null; return;
      case 'call':
        if (query.call === 'load_profile') {
          const [name, text] = query.values.map(String);
          this.#profile = name === undefined || text === undefined || text === '' ? null : { name, text };
        }
        return;
      case 'charts': case 'request': case 'export': return;
    }
  }

  /** Before the next run. Should the new worker die as well, the one after it is given them. */
  #giveBack(): void {
    const queries: Query[] = [];
    if (this.#trace !== null) queries.push({ kind: 'load-trace', ...this.#trace });
    if (this.#profile !== null) queries.push({ kind: 'call', call: 'load_profile', values: [this.#profile.name, this.#profile.text] });
    for (const query of queries) this.ask(query).catch((thrown: unknown) => { if (!(thrown instanceof Refusal)) throw thrown; });
  }

  #send(): void {
    const wish = this.#next;
    if (wish === null) return;
    this.#next = null;
    this.#flying = wish;
    this.#revision += 1;
    this.#mayEnd = false;
    this.#clearTimer();
    this.#overdue = setTimeout(() => { this.#yieldToNext(); }, LET_FINISH_MS);
    const preview = this.#trace === null ? previewOf(wish.scenario, wish.values, this.#cost) : null;
    this.#worker.postMessage({ kind: 'run', revision: this.#revision, scenario: wish.scenario, preview, options: wish.options });
  }

  #yieldToNext(): void {
    this.#mayEnd = true;
    this.#send();
  }

  #clearTimer(): void {
    if (this.#overdue !== null) clearTimeout(this.#overdue);
    this.#overdue = null;
  }

  #connect(): WorkerPort {
    const worker = this.spawn();
    worker.onmessage = ({ data }) => { this.#receive(data); };
    worker.onerror = (event: Partial<ErrorEvent>) => { this.#revive(event.message); };
    return worker;
  }

  #receive(message: FromWorker): void {
    if ('revision' in message) {
      if (message.revision === this.#revision) this.#receiveRun(message);
      return;
    }
    switch (message.kind) {
      case 'reply': this.#take(message.ticket)?.resolve(message.value); return;
      case 'refused': this.#take(message.ticket)?.reject(new Refusal(message.failures)); return;
      case 'died': this.#revive(message.message); return;
    }
  }

  #receiveRun(message: Extract<FromWorker, { revision: number }>): void {
    if (message.kind === 'progress') {
      this.listener.progress(message.fraction);
      return;
    }
    if (message.kind === 'others') {
      this.listener.others(message.charts);
      return;
    }
    if (message.kind === 'rehearsed') {
      if (this.#cost !== null) this.#cost = { ...this.#cost, compute_ms: message.compute_ms };
      return;
    }
    if (message.kind === 'answer') {
      this.#cost = { requests: message.summary.requests.offered, compute_ms: message.compute_ms };
      this.#deaths = 0;
      this.#previewed = message.preview;
      if (!message.preview) {
        this.#answered = this.#flying;
        this.#settle();
      }
      this.listener.answer(message, this.#flying === null && this.#next === null);
      this.#yieldToNext();
      return;
    }
    this.#settle();
    if (this.#next !== null) this.#send();
    else if (message.kind === 'failed') this.listener.failed(message.failures);
    else this.#giveUp();
  }

  /** The last full answer stays; where a preview has taken its place, worker and page go back to it. */
  #giveUp(): void {
    this.listener.cancelled();
    if (!this.#previewed || this.#answered === null) return;
    this.#previewed = false;
    this.run(this.#answered);
  }

  #settle(): void {
    this.#flying = null;
    this.#clearTimer();
  }

  #take(ticket: number): Pending | undefined {
    const pending = this.#pending.get(ticket);
    this.#pending.delete(ticket);
    return pending;
  }

  #revive(message: string | undefined): void {
    this.#worker.terminate();
    const lost = lostWorker(message);
    for (const pending of this.#pending.values()) pending.reject(new Refusal([lost]));
    this.#pending.clear();
    this.#deaths += 1;
    this.#worker = this.#connect();
    if (this.#start !== null) this.start(this.#start);
    this.#giveBack();
    this.listener.restarted(lost);
    const wish = this.#next ?? this.#flying;
    this.#settle();
    if (wish === null) return;
    if (this.#deaths < TRIES) this.run(wish);
    else this.listener.failed([lost]);
  }
}
