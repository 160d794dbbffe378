// The simulation's thread with simulators that are made up: what it fetches, what it answers when that fails, and what a
// larger simulator is given.
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Simulator } from '../../pkg/servescope.js';
import type { EngineCall, FromWorker, Query } from './protocol.js';
import { OperatorTables } from './operator-tables.js';
import { Serving } from './serving.js';
import type { Failures, RunOptions } from './types.js';

const OPTIONS: RunOptions = { columns: 2, window: null, split_by: 'adapter', in_sight: null };
const NEEDS: Failures = { failures: [{ code: 'needs_engine', path: 'scheduler.kind', message: 'vllm needs the whole', params: {} }] };

const NEEDS_TABLE: Failures = { failures: [{ code: 'needs_table', path: 'cost.kind', message: 'not here yet', params: { file: 'a100_phi-2' } }] };

/** Says in its summary what it is and what it was given. */
class Fake {
  readonly given: unknown[] = [];
  scenario: Record<string, unknown> = {};
  freed = false;
  begin(scenario: Record<string, unknown>): void { this.scenario = scenario; }
  advance(): number { return 1; }
  finish(): unknown { return { summary: { by: this.constructor.name, given: [...this.given] }, charts: [] }; }
  charts(): never[] { return []; }
  load_columns(name: string): void { this.given.push(name); }
  clear_trace(): void { this.given.length = 0; }
  free(): void { this.freed = true; }
}

class Small extends Fake {
  override begin(scenario: Record<string, unknown>): void {
    if (scenario['scheduler.kind'] === 'vllm') throw NEEDS as unknown as Error;
    super.begin(scenario);
  }
}

class Whole extends Fake {
  override begin(scenario: Record<string, unknown>): void {
    if (scenario['cost.kind'] === 'profile' && !hasTable) throw NEEDS_TABLE as unknown as Error;
    super.begin(scenario);
  }
  load_profile(name: string): null { this.given.push(name); return null; }
  fit_profile(): unknown { return { name: 'fitted.txt', text: 'measured' }; }
  monitor(): string { return 'monitored'; }
}

const as = (fake: Fake): Simulator => fake as unknown as Simulator;

let said: FromWorker[];
let fetchWhole: ReturnType<typeof vi.fn<() => Promise<Simulator>>>;
let serving: Serving;
let tables: OperatorTables;
let network: Promise<Response>;
let hasTable: boolean;
let revision: number;

beforeEach(() => {
  said = [];
  revision = 0;
  fetchWhole = vi.fn(() => Promise.resolve(as(new Whole())));
  tables = new OperatorTables({ take: () => { hasTable = true; }, fetch: () => network, caches: undefined });
  tables.beside('https://host/');
  hasTable = false;
  network = Promise.resolve(new Response('times'));
  serving = new Serving((message) => { said.push(message); }, fetchWhole, tables);
  serving.start(as(new Small()));
});

/** A run's end: its answer, or why there is none. */
async function run(scenario: Record<string, string> = {}): Promise<FromWorker> {
  revision += 1;
  const mine = revision;
  serving.receive({ kind: 'run', revision: mine, scenario, preview: null, options: OPTIONS });
  return vi.waitFor(() => {
    const end = said.find((message) => message.kind === 'died' || ('revision' in message && message.revision === mine && message.kind !== 'progress'));
    if (end === undefined) throw new Error('still running');
    return end;
  });
}

let ticket = 0;
async function ask(query: Query): Promise<FromWorker> {
  ticket += 1;
  const mine = ticket;
  serving.receive({ kind: 'query', ticket: mine, query });
  return vi.waitFor(() => {
    const end = said.find((message) => message.kind === 'died' || ('ticket' in message && message.ticket === mine));
    if (end === undefined) throw new Error('not answered');
    return end;
  });
}
const call = (name: EngineCall, ...values: unknown[]): Promise<FromWorker> => ask({ kind: 'engine', call: name, values });
const summary = (by: string, ...given: string[]): unknown => expect.objectContaining({ kind: 'answer', summary: { by, given } });

describe('the larger simulator', () => {
  it('is fetched for a scenario that needs it, once', async () => {
    expect(await run()).toEqual(summary('Small'));
    expect(await run({ 'scheduler.kind': 'vllm' })).toEqual(summary('Whole'));
    expect(await run({ 'scheduler.kind': 'vllm' })).toEqual(summary('Whole'));
    expect(fetchWhole).toHaveBeenCalledTimes(1);
  });

  it('is fetched with the run that follows a question which needs it', async () => {
    await run();
    expect(await call('monitor')).toMatchObject({ kind: 'reply', value: null });
    expect(await run()).toEqual(summary('Whole'));
    expect(await call('monitor')).toMatchObject({ kind: 'reply', value: 'monitored' });
  });

  it('is given the trace and the profile', async () => {
    await ask({ kind: 'load-trace', name: 'a.csv', columns: {} as never });
    expect(await call('load_profile', 'own.txt', 'measured')).toMatchObject({ kind: 'reply', value: null });
    expect(await run({ 'scheduler.kind': 'vllm' })).toEqual(summary('Whole', 'a.csv', 'own.txt'));
  });

  it('is given no profile that was taken out', async () => {
    await call('load_profile', 'own.txt', 'measured');
    await call('load_profile', '', '');
    expect(await run({ 'scheduler.kind': 'vllm' })).toEqual(summary('Whole'));
  });
});

describe('where it cannot be fetched', () => {
  beforeEach(() => { fetchWhole.mockRejectedValue(new TypeError('Failed to fetch dynamically imported module')); });

  it('a scenario that needs it fails by name, at its setting, and the thread goes on', async () => {
    expect(await run({ 'scheduler.kind': 'vllm' })).toEqual({ kind: 'failed', revision: 1, failures: NEEDS.failures });
    expect(await run()).toEqual(summary('Small'));
  });

  it('a question that needs it is refused by name, and the run is answered all the same', async () => {
    await run();
    await call('monitor');
    expect(await run()).toEqual(summary('Small'));
    expect(await call('monitor')).toMatchObject({ kind: 'refused', failures: [{ code: 'needs_engine' }] });
    expect(said.filter(({ kind }) => kind === 'died')).toEqual([]);
  });

  it('the next question tries again', async () => {
    await run();
    await call('monitor');
    await run();
    await call('monitor');
    fetchWhole.mockResolvedValue(as(new Whole()));
    expect(await call('monitor')).toMatchObject({ kind: 'reply', value: null });
    expect(await run()).toEqual(summary('Whole'));
  });
});

describe('a run with timed operators', () => {
  const TIMED = { 'scheduler.kind': 'vllm', 'cost.kind': 'profile' };

  it('waits for its table', async () => {
    expect(await run(TIMED)).toEqual(summary('Whole'));
    expect(hasTable).toBe(true);
  });

  it('fails by name without it, and the thread goes on', async () => {
    network = Promise.reject(new TypeError('Failed to fetch'));
    expect(await run(TIMED)).toEqual({ kind: 'failed', revision: 1, failures: NEEDS_TABLE.failures });
    expect(await run({ 'scheduler.kind': 'vllm' })).toEqual(summary('Whole'));
  });
});

it('a trap ends the thread, whatever it was asked', async () => {
  fetchWhole.mockResolvedValue(as(Object.assign(new Whole(), { begin: () => { throw new WebAssembly.RuntimeError('unreachable'); } })));
  expect(await run({ 'scheduler.kind': 'vllm' })).toMatchObject({ kind: 'died', message: 'unreachable' });
});
