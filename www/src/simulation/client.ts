// The page's end of the worker: the latest wish wins, one run is in flight, late answers are dropped by their revision.
// After a worker has died, another one is started for what was in flight or is shown, with the trace and the profile that the
// first held; once. Where that one dies as well, none is started before the next wish.
import type { Answer, FromWorker, Query, QueryResult, ToWorker } from './protocol.js';
import { previewOf, type Cost } from './preview.js';
import type { Start } from './start.js';
import type { ChartData, Diagnostic, FittedProfile, RunOptions, ScenarioPatch, TraceColumns } from './types.js';
import type { Values } from './values.js';
import { Refusal, WorkerLink, type WorkerPort } from './worker-link.js';

/** `Setting`: what the answer is said to be of; the client reads its scenario. */
export interface Wish<Setting extends { values: Values }> {
  setting: Setting;
  /** Every value, defaults included: how long the run may take is read from them. */
  values: ScenarioPatch;
  options: RunOptions;
}

export interface Listener<Setting> {
  /** What was wished is answered; `last` is false when a newer wish is on its way. */
  answer(answer: Answer, setting: Setting, last: boolean): void;
  /** The charts of the last answer that were out of sight. */
  others(charts: ChartData[]): void;
  progress(fraction: number): void;
  failed(errors: Diagnostic[]): void;
  cancelled(): void;
  /** The worker died, and another one has taken up its work. */
  restarted(why: Diagnostic): void;
}

/** Asks about the last run. */
export type Ask = <K extends Query['kind']>(query: Extract<Query, { kind: K }>) => Promise<QueryResult[K]>;

type AboutRuns = Extract<FromWorker, { revision: number }>;

/** A run younger than this is let through: a drag that ends every run before its answer would show nothing at all. */
const LET_FINISH_MS = 150;
/** Deaths in a row, without a wish that was answered in between, after which no worker is started but for the next wish. */
const TRIES = 2;

export class Client<Setting extends { values: Values }> {
  readonly #link: WorkerLink<AboutRuns>;
  #start: Start | null = null;
  #revision = 0;
  #flying: Wish<Setting> | null = null;
  #next: Wish<Setting> | null = null;
  #overdue: ReturnType<typeof setTimeout> | null = null;
  /** The run in flight may be ended by a newer wish. */
  #mayEnd = true;
  #cost: Cost | null = null;
  /** The last wish that was answered in full, and whether a preview of a later one stands in its place. */
  #answered: Wish<Setting> | null = null;
  #previewed = false;
  #trace: { name: string; columns: TraceColumns } | null = null;
  #profile: Pick<FittedProfile, 'name' | 'text'> | null = null;
  #deaths = 0;
  /** The wish in flight is one that the page makes again by itself, after a death: its answer does not show that the next one
   * will live, since a question about it may have killed the worker. */
  #isRevived = false;
  /** Why no further worker is started until a person asks for a run. */
  #gaveUp: Diagnostic | null = null;

  constructor(spawn: () => WorkerPort, private readonly listener: Listener<Setting>) {
    this.#link = new WorkerLink(spawn, {
      first: () => (this.#start === null ? [] : [this.#start]),
      lost: (why) => { if (why !== null) this.#lost(why); },
      other: (message) => { if (message.revision === this.#revision) this.#receiveRun(message); },
    });
    this.#link.connect();
  }

  /** Whether a wish is not answered yet. */
  get busy(): boolean {
    return this.#flying !== null || this.#next !== null;
  }

  start(start: Start): void {
    this.#start = start;
    this.#tell(start);
  }

  run(wish: Wish<Setting>): void {
    this.#isRevived = false;
    this.#gaveUp = null;
    this.#wish(wish);
  }

  #wish(wish: Wish<Setting>): void {
    this.#next = wish;
    if (this.#flying === null || this.#mayEnd) this.#send();
  }

  /** Ends the run in progress; the last answer stays. */
  cancel(): void {
    this.#next = null;
    if (this.#flying !== null) this.#tell({ kind: 'cancel' });
  }

  /** Asks about the run, or gives the worker what it is to hold. After the page gave up on dying workers a question about the run
   * starts none: a picture that plays asks one after another. */
  async ask<K extends Query['kind']>(query: Extract<Query, { kind: K }>): Promise<QueryResult[K]> {
    if (this.#gaveUp !== null && !isGiven(query)) throw new Refusal([this.#gaveUp]);
    this.#connect();
    const value = await this.#link.ask({ kind: 'query', query });
    this.#remember(query);
    return value as QueryResult[K];
  }

  /** What a worker that is started again must be given again. */
  #remember(query: Query): void {
    switch (query.kind) {
      case 'load-trace': this.#trafficIs({ name: query.name, columns: query.columns }); return;
      case 'clear-trace': this.#trafficIs(null); return;
      case 'call':
        if (query.call === 'load_profile') {
          const [name, text] = query.values.map(String);
          this.#profile = name === undefined || text === undefined || text === '' ? null : { name, text };
        }
        return;
      case 'charts': case 'request': case 'export': return;
    }
  }

  /** What was answered before was of other traffic, so that its settings alone do not give it again. */
  #trafficIs(trace: { name: string; columns: TraceColumns } | null): void {
    this.#trace = trace;
    this.#answered = null;
  }

  /** A worker in place of one that died gets what that one held before anything else. */
  #connect(): void {
    if (this.#link.isConnected) return;
    this.#link.connect();
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
    this.#connect();
    const scenario = wish.setting.values;
    const preview = this.#trace === null ? previewOf(scenario, wish.values, this.#cost) : null;
    this.#tell({ kind: 'run', revision: this.#revision, scenario, preview, options: wish.options });
  }

  #yieldToNext(): void {
    this.#mayEnd = true;
    this.#send();
  }

  #clearTimer(): void {
    if (this.#overdue !== null) clearTimeout(this.#overdue);
    this.#overdue = null;
  }

  #tell(message: Exclude<ToWorker, { kind: 'query' }>): void {
    this.#link.tell(message);
  }

  #receiveRun(message: AboutRuns): void {
    if (message.kind === 'progress') {
      this.listener.progress(message.fraction);
      return;
    }
    if (message.kind === 'others') {
      this.listener.others(message.charts);
      return;
    }
    if (message.kind === 'answer') {
      const answered = this.#flying;
      if (answered === null) return;
      this.#cost = { requests: message.summary.requests.offered, compute_ms: message.compute_ms };
      if (!this.#isRevived) this.#deaths = 0;
      this.#previewed = message.preview;
      if (!message.preview) {
        this.#answered = answered;
        this.#settle();
      }
      this.listener.answer(message, answered.setting, this.#flying === null && this.#next === null);
      this.#yieldToNext();
      return;
    }
    this.#settle();
    if (this.#next !== null) this.#send();
    else if (message.kind === 'failed') this.listener.failed(message.errors);
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

  /** The page goes on with the wish that this worker had; without one, with the run that is shown, for questions about it. */
  #lost(why: Diagnostic): void {
    this.#deaths += 1;
    const wish = this.#next ?? this.#flying ?? this.#answered;
    this.#next = null;
    this.#settle();
    if (wish === null) return;
    if (this.#deaths >= TRIES) {
      this.#gaveUp = why;
      this.listener.failed([why]);
      return;
    }
    this.#isRevived = true;
    this.listener.restarted(why);
    this.#wish(wish);
  }
}

/** Whether a person gives the worker a file with this. */
function isGiven(query: Query): boolean {
  return query.kind === 'load-trace' || query.kind === 'clear-trace' || (query.kind === 'call' && query.call === 'load_profile');
}
