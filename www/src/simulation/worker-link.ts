// The page's end of a worker: questions go out with a ticket, and each gets one reply. A worker that dies takes the open
// questions with it; the next question starts another. One at once would end as this one did, and again, where its script
// is out of reach.
import { due, type DueKind } from '../lib/due.js';
import { lostWorker } from './fetched.js';
import type { Diagnostic } from './types.js';

export interface WorkerPort {
  postMessage(message: unknown): void;
  terminate(): void;
  onmessage: ((event: MessageEvent) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
}

/** What every worker may say; what else it says goes to `other`. */
export type Reply<Value> =
  | { kind: 'progress'; ticket: number; fraction: number }
  | { kind: 'reply'; ticket: number; value: Value }
  | { kind: 'refused'; ticket: number; errors: Diagnostic[] }
  /** The question was let go. */
  | { kind: 'stopped'; ticket: number }
  /** The module trapped; its memory cannot be trusted any more. */
  | { kind: 'died'; message: string };

/** A question that the worker refused, with its reasons. */
export class Refusal extends Error {
  constructor(readonly errors: Diagnostic[]) {
    super(errors.map((error) => error.message).join('; '));
  }
}

/** A question that was taken back. */
export class Cancelled extends Error {
  override name = 'Cancelled';
}

interface Pending { resolve: (value: unknown) => void; reject: (reason: Error) => void; progress: (fraction: number) => void }

interface Hooks<Other> {
  /** As what an open question is counted. */
  due?: DueKind;
  /** The first message to a new worker. */
  first?: () => readonly object[];
  /** The worker has ended, and with it all that it held. */
  lost?: (why: Diagnostic | null) => void;
  other?: (message: Other) => void;
}

export class WorkerLink<Other = never> {
  #worker: WorkerPort | null = null;
  #ticket = 0;
  readonly #pending = new Map<number, Pending>();

  constructor(private readonly spawn: () => WorkerPort, private readonly hooks: Hooks<Other> = {}) {}

  /** Whether a question waits for its answer. */
  get busy(): boolean {
    return this.#pending.size > 0;
  }

  get isConnected(): boolean {
    return this.#worker !== null;
  }

  ask(question: object, progress: (fraction: number) => void = () => undefined): Promise<unknown> {
    const worker = this.connect();
    this.#ticket += 1;
    const ticket = this.#ticket;
    const reply = new Promise((resolve, reject) => { this.#pending.set(ticket, { resolve, reject, progress }); });
    worker.postMessage({ ...question, ticket });
    return due.during(this.hooks.due ?? 'question', () => reply);
  }

  /** Says something that gets no reply; nothing where there is no worker. */
  tell(message: object): void {
    this.#worker?.postMessage(message);
  }

  /** The worker, which is started where there is none. */
  connect(): WorkerPort {
    if (this.#worker !== null) return this.#worker;
    const worker = this.spawn();
    this.#worker = worker;
    worker.onmessage = ({ data }: MessageEvent<Reply<unknown> | Other>) => { this.#receive(data); };
    worker.onerror = (event: Partial<ErrorEvent>) => { this.#died(event.message); };
    for (const message of this.hooks.first?.() ?? []) worker.postMessage(message);
    return worker;
  }

  /** Ends the worker: what cannot be interrupted otherwise. */
  end(reason: Error, why: Diagnostic | null = null): void {
    this.#worker?.terminate();
    this.#worker = null;
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of pending) reject(reason);
    this.hooks.lost?.(why);
  }

  #receive(message: Reply<unknown> | Other): void {
    if (!isReply(message)) {
      this.hooks.other?.(message);
      return;
    }
    if (message.kind === 'died') {
      this.#died(message.message);
      return;
    }
    const pending = this.#pending.get(message.ticket);
    if (message.kind === 'progress') {
      pending?.progress(message.fraction);
      return;
    }
    this.#pending.delete(message.ticket);
    switch (message.kind) {
      case 'reply': pending?.resolve(message.value); return;
      case 'refused': pending?.reject(new Refusal(message.errors)); return;
      case 'stopped': pending?.reject(new Cancelled());
    }
  }

  #died(message: string | undefined): void {
    const why = lostWorker(message);
    this.end(new Refusal([why]), why);
  }
}

function isReply<Other>(message: Reply<unknown> | Other): message is Reply<unknown> {
  return typeof message === 'object' && message !== null && ('ticket' in message || ('kind' in message && message.kind === 'died'));
}
