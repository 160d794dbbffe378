// The pool: which task gets a thread, what is stopped, and threads whose worker ends.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { share } from '../simulation/start.js';
import { Cancelled, type Refusal } from '../simulation/worker-link.js';
import type { ToThread } from './pool-calls.js';
import type { Inputs } from '../simulation/inputs.js';
import { WorkerPool, type Given, type Priority } from './worker-pool.js';

class FakeWorker {
  static readonly made: FakeWorker[] = [];
  readonly heard: ToThread[] = [];
  onmessage: ((event: Partial<MessageEvent>) => void) | null = null;
  onerror: ((event: Partial<ErrorEvent>) => void) | null = null;
  constructor() { FakeWorker.made.push(this); }
  postMessage(message: ToThread): void { this.heard.push(message); }
  isOver = false;
  terminate(): void { this.isOver = true; }
  /** The scenario seeds that it was given. */
  get seeds(): unknown[] {
    return this.heard.flatMap((message) => message.kind === 'load' ? [message.scenario['seed']] : []);
  }
  async says(message: { kind: 'reply'; value: unknown } | { kind: 'stopped' }): Promise<void> {
    const asked = this.heard.filter((heard) => 'ticket' in heard).at(-1);
    this.onmessage?.({ data: { ...message, ticket: asked !== undefined && 'ticket' in asked ? asked.ticket : 0 } });
    await vi.waitFor(() => undefined);
    await Promise.resolve();
  }
}

const INPUTS: Inputs = { trace: null, profile: { name: 'own.txt', text: 'measured' } };
const { made } = FakeWorker;
const kinds = (place: number): string[] => made[place]?.heard.map(({ kind }) => kind) ?? [];
const poolOf = (size: number): WorkerPool => new WorkerPool(() => new FakeWorker(), size);

function give(pool: WorkerPool, seed: number, priority: Priority = 'asked'): Given<unknown> {
  const given = pool.give({ kind: 'load', scenario: { seed } }, { priority, inputs: INPUTS });
  given.done.catch(() => undefined);
  return given;
}

const why = (given: Given<unknown>): Promise<unknown> => given.done.catch((reason: unknown) => reason);

beforeEach(() => {
  made.length = 0;
  share({}, 'https://host/');
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

it('gives each task to the next thread that is free, what was asked for first, and tells inputs once', async () => {
  const pool = poolOf(2);
  give(pool, 1, 'idle');
  const second = give(pool, 2);
  give(pool, 3, 'idle');
  give(pool, 4);
  expect(made.map(({ seeds }) => seeds)).toEqual([[1], [2]]);
  await made[1]?.says({ kind: 'reply', value: null });
  expect(await second.done).toBeNull();
  expect(made.map(({ seeds }) => seeds)).toEqual([[1], [2, 4]]);
  expect(kinds(1)).toEqual(['start', 'inputs', 'load', 'load']);
});

it('leaves a thread free of what is done in idle time', () => {
  const pool = poolOf(2);
  give(pool, 1, 'idle');
  give(pool, 2, 'idle');
  expect(made.map(({ seeds }) => seeds)).toEqual([[1]]);
});

it('stops what is done in idle time for what was asked for, and begins it again later', async () => {
  const pool = poolOf(1);
  const idle = give(pool, 1, 'idle');
  const asked = give(pool, 2);
  expect(kinds(0)).toEqual(['start', 'inputs', 'load', 'stop']);
  await made[0]?.says({ kind: 'stopped' });
  expect(made[0]?.seeds).toEqual([1, 2]);
  await made[0]?.says({ kind: 'reply', value: null });
  await asked.done;
  expect(made[0]?.seeds).toEqual([1, 2, 1]);
  await made[0]?.says({ kind: 'reply', value: null });
  expect(await idle.done).toBeNull();
});

it('takes back what waits at once, and what is under way with its next slice', async () => {
  const pool = poolOf(1);
  const [under, waiting] = [give(pool, 1), give(pool, 2)];
  waiting.cancel();
  expect(await why(waiting)).toBeInstanceOf(Cancelled);
  under.cancel();
  expect(kinds(0).at(-1)).toBe('stop');
  await made[0]?.says({ kind: 'stopped' });
  expect(await why(under)).toBeInstanceOf(Cancelled);
  expect(made[0]?.seeds).toEqual([1]);
});

it('refuses the task of a worker that ends, and gives the worker after it the inputs and the next task', async () => {
  const pool = poolOf(1);
  const [lost, next] = [give(pool, 1), give(pool, 2)];
  made[0]?.onerror?.({ message: 'unreachable' });
  expect(((await why(lost)) as Refusal).errors).toHaveLength(1);
  await vi.waitFor(() => { expect(kinds(1)).toEqual(['start', 'inputs', 'load']); });
  await made[1]?.says({ kind: 'reply', value: null });
  expect(await next.done).toBeNull();
});

it('starts no worker for one whose script is out of reach before it is asked again', async () => {
  const pool = poolOf(2);
  const asked = pool.ask({ kind: 'grid', scenario: {} });
  made[0]?.onerror?.({});
  const refused: unknown = await asked.catch((reason: unknown) => reason);
  expect((refused as Refusal).errors.map(({ code }) => code)).toEqual(['missing_part']);
  expect(made).toHaveLength(1);
  pool.ask({ kind: 'grid', scenario: {} }).catch(() => undefined);
  expect(made).toHaveLength(2);
});

it('ends a thread that has rested for a minute, and starts another one for the next task, with its inputs', async () => {
  vi.useFakeTimers();
  const pool = poolOf(2);
  give(pool, 1);
  give(pool, 2);
  await made[0]?.says({ kind: 'reply', value: null });
  vi.advanceTimersByTime(59_000);
  expect(made.map(({ isOver }) => isOver)).toEqual([false, false]);
  vi.advanceTimersByTime(2_000);
  // The other one still works.
  expect(made.map(({ isOver }) => isOver)).toEqual([true, false]);
  give(pool, 3);
  expect(made).toHaveLength(3);
  expect(kinds(2)).toEqual(['start', 'inputs', 'load']);
});

it('gives the inputs once more to what holds them in place of another', async () => {
  const pool = poolOf(1);
  const one = { priority: 'asked', inputs: INPUTS } as const;
  for (const kind of ['load', 'load', 'causes', 'slo', 'search'] as const) {
    pool.give({ kind, scenario: {} }, one).done.catch(() => undefined);
    await made[0]?.says({ kind: 'reply', value: null });
  }
  expect(kinds(0)).toEqual(['start', 'inputs', 'load', 'load', 'inputs', 'causes', 'inputs', 'slo', 'search']);
});

it('gives a trace to as many threads as there is memory for, and one at least', async () => {
  const ofBytes = (bytes: number): Inputs => ({ profile: null, trace: { name: 'a.csv', columns: { user: { byteLength: bytes } } as never } });
  const threads = (megabytes: number): number => {
    made.length = 0;
    const pool = poolOf(8);
    const inputs = ofBytes(megabytes * 1024 * 1024);
    for (let seed = 0; seed < 8; seed += 1) pool.give({ kind: 'load', scenario: { seed } }, { priority: 'asked', inputs }).done.catch(() => undefined);
    return made.length;
  };
  expect([0, 1, 32, 60, 128, 1000].map(threads)).toEqual([8, 8, 8, 6, 3, 1]);
  // The others come when one is done.
  await made[0]?.says({ kind: 'reply', value: null });
  expect(made).toHaveLength(1);
  expect(made[0]?.seeds).toEqual([0, 1]);
});
