import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Client, type Listener, type Wish } from './client.js';
import type { Values } from './values.js';
import type { FromWorker, ToWorker } from './protocol.js';
import type { Summary, TraceColumns } from './types.js';
import { Refusal, type WorkerPort } from './worker-link.js';

class FakeWorker implements WorkerPort {
  readonly sent: ToWorker[] = [];
  terminated = false;
  onmessage: WorkerPort['onmessage'] = null;
  onerror: WorkerPort['onerror'] = null;
  postMessage(message: ToWorker): void { this.sent.push(message); }
  terminate(): void { this.terminated = true; }
  say(data: FromWorker): void { this.onmessage?.({ data } as MessageEvent<FromWorker>); }
  runs(): Extract<ToWorker, { kind: 'run' }>[] {
    return this.sent.filter((message) => message.kind === 'run');
  }
}

interface Setting { values: Values }

const wish = (rate: number): Wish<Setting> => ({
  setting: { values: { 'workload.rate_rps': rate } },
  values: { 'workload.rate_rps': rate, 'workload.duration_s': 300 },
  options: { columns: 600, window: null, split_by: 'adapter', in_sight: null },
});

const answer = (revision: number, compute_ms = 1, preview = false): FromWorker => ({
  kind: 'answer', revision, preview, compute_ms, traffic_end_s: 0, charts: [], more: false, options: wish(0).options, summary: { requests: { offered: 600 } } as Summary,
});

const none = new Uint32Array();
const COLUMNS: TraceColumns = {
  arrival_us: new Float64Array(), cancellations: new Float64Array(), adapter_rank: none,
  user: none, adapter: none, input_tokens: none, output_tokens: none, max_tokens: none,
  after: none, think_us: new Float64Array(), until_us: new Float64Array([Infinity]), session: none, took_s: new Float64Array(),
};

let workers: FakeWorker[];
let listener: { [K in keyof Listener<Setting>]: ReturnType<typeof vi.fn<Listener<Setting>[K]>> };
let client: Client<Setting>;
const worker = (): FakeWorker => {
  const last = workers.at(-1);
  if (last === undefined) throw new Error('no worker was made');
  return last;
};

beforeEach(() => {
  vi.useFakeTimers();
  workers = [];
  listener = { answer: vi.fn(), others: vi.fn(), progress: vi.fn(), failed: vi.fn(), cancelled: vi.fn(), restarted: vi.fn() };
  client = new Client(() => {
    const made = new FakeWorker();
    workers.push(made);
    return made;
  }, listener);
});
afterEach(() => { vi.useRealTimers(); });

describe('Client', () => {
  it('keeps one run in flight and then takes the newest wish', () => {
    client.run(wish(1));
    client.run(wish(2));
    client.run(wish(3));
    expect(worker().runs()).toHaveLength(1);
    worker().say(answer(1));
    expect(listener.answer).toHaveBeenLastCalledWith(expect.objectContaining({ revision: 1 }), wish(1).setting, false);
    expect(worker().runs().map((run) => run.scenario['workload.rate_rps'])).toEqual([1, 3]);
    worker().say(answer(2));
    expect(listener.answer).toHaveBeenLastCalledWith(expect.objectContaining({ revision: 2 }), wish(3).setting, true);
  });

  it('ends a run that takes long when there is a newer wish', () => {
    client.run(wish(1));
    vi.advanceTimersByTime(200);
    client.run(wish(2));
    expect(worker().runs()).toHaveLength(2);
    worker().say(answer(1));
    expect(listener.answer).not.toHaveBeenCalled();
  });

  it('sends a wish that waited when the run in flight is overdue', () => {
    client.run(wish(1));
    client.run(wish(2));
    vi.advanceTimersByTime(200);
    expect(worker().runs()).toHaveLength(2);
  });

  it('asks for a preview once runs are known to be long', () => {
    client.run(wish(2));
    worker().say(answer(1, 100));
    client.run(wish(4));
    const preview = worker().runs().at(-1)?.preview;
    expect(preview?.['workload.rate_rps']).toBe(4);
    expect(preview?.['workload.duration_s']).toBeLessThan(300);
    worker().say(answer(2, 10, true));
    expect(listener.answer).toHaveBeenLastCalledWith(expect.objectContaining({ preview: true }), wish(4).setting, false);
    client.run(wish(5));
    expect(worker().runs()).toHaveLength(3);
  });

  it('tells of an error, and not of one that a newer wish has overtaken', () => {
    client.run(wish(1));
    worker().say({ kind: 'failed', revision: 1, errors: [] });
    expect(listener.failed).toHaveBeenCalledTimes(1);
    client.run(wish(2));
    client.run(wish(3));
    worker().say({ kind: 'failed', revision: 2, errors: [] });
    expect(listener.failed).toHaveBeenCalledTimes(1);
    expect(worker().runs()).toHaveLength(3);
  });

  it('goes back to the last full answer when a run is cancelled whose preview is shown', () => {
    client.run(wish(1));
    worker().say(answer(1));
    client.run(wish(2));
    worker().say(answer(2, 1, true));
    client.cancel();
    worker().say({ kind: 'cancelled', revision: 2 });
    expect(listener.cancelled).toHaveBeenCalledTimes(1);
    expect(worker().runs().map((run) => run.scenario['workload.rate_rps'])).toEqual([1, 2, 1]);
    worker().say(answer(3));
    expect(listener.answer).toHaveBeenLastCalledWith(expect.objectContaining({ revision: 3, preview: false }), wish(1).setting, true);
  });

  it('does not go back to what was answered of other traffic', async () => {
    client.run(wish(1));
    worker().say(answer(1));
    const cleared = client.ask({ kind: 'clear-trace' });
    worker().say({ kind: 'reply', ticket: 1, value: null });
    await cleared;
    client.run(wish(2));
    worker().say(answer(2, 1, true));
    client.cancel();
    worker().say({ kind: 'cancelled', revision: 2 });
    expect(worker().runs()).toHaveLength(2);
  });

  it('cancels the run and the wish behind it', () => {
    client.run(wish(1));
    client.run(wish(2));
    client.cancel();
    worker().say({ kind: 'cancelled', revision: 1 });
    expect(listener.cancelled).toHaveBeenCalledTimes(1);
    expect(worker().runs()).toHaveLength(1);
  });

  it('starts a dead worker again with the trace and the wish, once', async () => {
    const loading = client.ask({ kind: 'load-trace', name: 'a.csv', columns: COLUMNS });
    worker().say({ kind: 'reply', ticket: 1, value: null });
    await loading;
    client.run(wish(1));
    worker().say({ kind: 'died', message: 'unreachable' });
    expect(workers).toHaveLength(2);
    expect(workers[0]?.terminated).toBe(true);
    expect(listener.restarted).toHaveBeenCalledWith(expect.objectContaining({ code: 'internal', message: 'unreachable' }));
    expect(worker().sent.map((message) => message.kind)).toEqual(['query', 'run']);
    worker().say({ kind: 'died', message: 'unreachable' });
    expect(listener.failed).toHaveBeenCalledTimes(1);
    expect(workers).toHaveLength(2);
  });

  /** Ports that end as soon as they are there, as where the script is out of reach. */
  const dieAtOnce = (): void => {
    const { push } = workers;
    workers.push = (...made) => {
      for (const port of made) setTimeout(() => { port.onerror?.(new Event('error') as ErrorEvent); });
      return push.apply(workers, made);
    };
  };

  it('starts one worker for each wish, and one more, where every worker dies at once', () => {
    client.run(wish(1));
    worker().say(answer(1));
    dieAtOnce();
    worker().say({ kind: 'died', message: 'unreachable' });
    vi.advanceTimersByTime(5000);
    expect(workers).toHaveLength(2);
    expect(listener.restarted).toHaveBeenCalledTimes(1);
    expect(listener.failed.mock.calls).toEqual([[[expect.objectContaining({ code: 'missing_part' })]]]);
    for (const rate of [2, 3]) {
      client.run(wish(rate));
      vi.advanceTimersByTime(5000);
    }
    expect(workers).toHaveLength(4);
    expect(listener.failed).toHaveBeenCalledTimes(3);
  });

  it('makes the shown run again for questions about it when the worker dies between two wishes', () => {
    client.run(wish(1));
    worker().say(answer(1));
    worker().say({ kind: 'died', message: 'unreachable' });
    expect(worker().runs().map((run) => run.scenario['workload.rate_rps'])).toEqual([1]);
    expect(listener.failed).not.toHaveBeenCalled();
  });

  it('does not go on for ever where a question about every run kills the worker', async () => {
    client.run(wish(1));
    worker().say(answer(1));
    for (let round = 0; round < 5 && !workers.at(-1)?.terminated; round += 1) {
      const asked = client.ask({ kind: 'call', call: 'moment', values: [] });
      worker().say({ kind: 'died', message: 'unreachable' });
      await expect(asked).rejects.toBeInstanceOf(Refusal);
      const [revived] = worker().runs();
      if (revived !== undefined) worker().say(answer(revived.revision));
    }
    expect(workers).toHaveLength(2);
    expect(listener.failed).toHaveBeenCalledTimes(1);
    // One more question, as of a picture that plays, starts no worker.
    await expect(client.ask({ kind: 'call', call: 'moment', values: [] })).rejects.toBeInstanceOf(Refusal);
    expect(workers).toHaveLength(2);
    client.run(wish(2));
    worker().say(answer(3));
    expect(listener.answer).toHaveBeenLastCalledWith(expect.objectContaining({ revision: 3 }), wish(2).setting, true);
  });

  const engineCalls = (): unknown[] => worker().sent.flatMap((message) => (message.kind === 'query' && message.query.kind === 'call' ? [[message.query.call, ...message.query.values]] : []));

  it('gives the profile to a worker that was started again, before the run', async () => {
    const loading = client.ask({ kind: 'call', call: 'load_profile', values: ['own.txt', 'measured'] });
    worker().say({ kind: 'reply', ticket: 1, value: null });
    await loading;
    client.run(wish(1));
    worker().say({ kind: 'died', message: 'unreachable' });
    expect(worker().sent.map((message) => message.kind)).toEqual(['query', 'run']);
    expect(engineCalls()).toEqual([['load_profile', 'own.txt', 'measured']]);
    // The next one too, should this one die before it has answered.
    worker().say({ kind: 'died', message: 'unreachable' });
    await Promise.resolve();
    client.run(wish(2));
    expect(engineCalls()).toEqual([['load_profile', 'own.txt', 'measured']]);
  });

  it('tells a worker that was started again what the first was told', () => {
    const start = { kind: 'start', module: {} as WebAssembly.Module, page: 'https://host/' } as const;
    client.start(start);
    worker().say({ kind: 'died', message: 'unreachable' });
    client.run(wish(1));
    expect(workers.map(({ sent }) => sent[0])).toEqual([start, start]);
  });

  it('gives no profile that was taken out again, and none that was refused', async () => {
    const loading = client.ask({ kind: 'call', call: 'load_profile', values: ['own.txt', 'measured'] });
    worker().say({ kind: 'reply', ticket: 1, value: null });
    await loading;
    const bad = client.ask({ kind: 'call', call: 'load_profile', values: ['bad.txt', 'rubbish'] });
    worker().say({ kind: 'refused', ticket: 2, errors: [] });
    await expect(bad).rejects.toBeInstanceOf(Refusal);
    worker().say({ kind: 'died', message: 'unreachable' });
    client.run(wish(1));
    expect(engineCalls()).toEqual([['load_profile', 'own.txt', 'measured']]);
    worker().say({ kind: 'reply', ticket: 3, value: null });
    const back = client.ask({ kind: 'call', call: 'load_profile', values: ['', ''] });
    worker().say({ kind: 'reply', ticket: 4, value: null });
    await back;
    worker().say({ kind: 'died', message: 'unreachable' });
    client.run(wish(2));
    expect(engineCalls()).toEqual([]);
  });

  it('says that a part is missing when the worker’s script could not be fetched', () => {
    client.run(wish(1));
    worker().onerror?.(new Event('error') as ErrorEvent);
    worker().onerror?.(new Event('error') as ErrorEvent);
    expect(listener.failed).toHaveBeenCalledWith([expect.objectContaining({ code: 'missing_part' })]);
  });

  it('refuses a question with its errors', async () => {
    const asked = client.ask({ kind: 'request', id: 3 });
    worker().say({ kind: 'refused', ticket: 1, errors: [{ severity: 'error', code: 'no_trace', path: '', message: 'no run yet', params: {} }] });
    await expect(asked).rejects.toBeInstanceOf(Refusal);
  });
});
