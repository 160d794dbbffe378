// The simulation's thread with a simulator that is made up: what it waits for, and what it answers when that fails.
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Simulator } from '../../pkg/servescope.js';
import { OperatorTables } from './operator-tables.js';
import type { FromWorker, Query } from './protocol.js';
import { Serving } from './serving.js';
import type { CallErrors, RunOptions } from './types.js';

const OPTIONS: RunOptions = { columns: 2, window: null, split_by: 'adapter', in_sight: null };
const NEEDS_TABLE: CallErrors = { errors: [{ severity: 'error', code: 'needs_table', path: 'cost.kind', message: 'not here yet', params: { file: 'a100_phi-2' } }] };
const TIMED = { 'cost.kind': 'profile' };

/** Says in its summary what it was given. */
class Fake {
  readonly given: unknown[] = [];
  begin(scenario: Record<string, unknown>): void {
    if (scenario['cost.kind'] === 'profile' && !hasTable) throw NEEDS_TABLE as unknown as Error;
    if (scenario['cost.kind'] === 'trap') throw new WebAssembly.RuntimeError('unreachable');
  }
  advance(): number { return 1; }
  finish(): unknown { return { summary: { given: [...this.given] }, charts: [] }; }
  charts(): never[] { return []; }
  load_columns(name: string): void { this.given.push(name); }
  clear_trace(): void { this.given.length = 0; }
  load_profile(name: string): void { this.given.push(name); }
  monitor(): string { return 'monitored'; }
}

let said: FromWorker[];
let serving: Serving;
let network: () => Promise<Response>;
let hasTable: boolean;
let revision: number;

beforeEach(() => {
  said = [];
  revision = 0;
  hasTable = false;
  network = () => Promise.resolve(new Response('times'));
  const tables = new OperatorTables({ take: () => { hasTable = true; }, fetch: (_address, init) => Promise.race([network(), aborted(init)]), caches: undefined });
  tables.beside('https://host/');
  serving = new Serving((message) => { said.push(message); }, tables);
  serving.start(new Fake() as unknown as Simulator);
});

function aborted(init: RequestInit | undefined): Promise<Response> {
  return new Promise((_done, fail) => {
    const giveUp = (): void => { fail(new DOMException('', 'AbortError')); };
    if (init?.signal?.aborted === true) giveUp();
    init?.signal?.addEventListener('abort', giveUp);
  });
}

function end(of: (message: FromWorker) => boolean): Promise<FromWorker> {
  return vi.waitFor(() => {
    const found = said.find((message) => message.kind === 'died' || of(message));
    if (found === undefined) throw new Error('not answered');
    return found;
  });
}

/** A run's end: its answer, or why there is none. */
async function run(scenario: Record<string, string> = {}): Promise<FromWorker> {
  revision += 1;
  const mine = revision;
  serving.receive({ kind: 'run', revision: mine, scenario, preview: null, options: OPTIONS });
  return end((message) => 'revision' in message && message.revision === mine && message.kind !== 'progress');
}

let ticket = 0;
async function ask(query: Query): Promise<FromWorker> {
  ticket += 1;
  const mine = ticket;
  serving.receive({ kind: 'query', ticket: mine, query });
  return end((message) => 'ticket' in message && message.ticket === mine);
}
const summary = (...given: string[]): unknown => expect.objectContaining({ kind: 'answer', summary: { given } });

it('runs with the trace and the profile that it was given', async () => {
  await ask({ kind: 'load-trace', name: 'a.csv', columns: {} as never });
  await ask({ kind: 'call', call: 'load_profile', values: ['own.txt', 'measured'] });
  expect(await run()).toEqual(summary('a.csv', 'own.txt'));
  await ask({ kind: 'clear-trace' });
  expect(await run()).toEqual(summary());
});

it('asks the simulator what only it knows', async () => {
  await run();
  expect(await ask({ kind: 'call', call: 'monitor', values: [{}] })).toMatchObject({ kind: 'reply', value: 'monitored' });
});

it('says that a run was cancelled which had not begun', async () => {
  // The thread waits for the table of the first one, and lets go of it.
  network = () => new Promise(() => undefined);
  serving.receive({ kind: 'run', revision: 1, scenario: TIMED, preview: null, options: OPTIONS });
  revision = 1;
  const old = run();
  serving.receive({ kind: 'cancel' });
  expect(await old).toEqual({ kind: 'cancelled', revision: 2 });
});

describe('a run with timed operators', () => {
  it('waits for its table', async () => {
    expect(await run(TIMED)).toEqual(summary());
    expect(hasTable).toBe(true);
  });

  it('fails by name without it, and the thread goes on', async () => {
    network = () => Promise.reject(new TypeError('Failed to fetch'));
    expect(await run(TIMED)).toEqual({ kind: 'failed', revision: 1, errors: NEEDS_TABLE.errors });
    expect(await run()).toEqual(summary());
  });

  it('gives way to a newer one while it waits, and ends when it is taken back', async () => {
    const asked = vi.fn(() => new Promise<Response>(() => undefined));
    network = asked;
    serving.receive({ kind: 'run', revision: 0, scenario: TIMED, preview: null, options: OPTIONS });
    await vi.waitFor(() => { expect(asked).toHaveBeenCalled(); });
    expect(await run()).toEqual(summary());
    const old = run(TIMED);
    await new Promise((resolve) => setTimeout(resolve, 20));
    serving.receive({ kind: 'cancel' });
    expect(await old).toEqual({ kind: 'cancelled', revision: 2 });
    // The table of the first run is still under way.
    expect(asked).toHaveBeenCalledTimes(1);
    expect(said.filter(({ kind }) => kind === 'failed')).toEqual([]);
  });
});

it('a trap ends the thread', async () => {
  expect(await run({ 'cost.kind': 'trap' })).toMatchObject({ kind: 'died', message: 'unreachable' });
});
