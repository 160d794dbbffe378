// A run beside the page's own: what becomes of one that is refused, or whose worker ends.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { BesideRun } from './beside-run.js';
import { share } from './start.js';
import type { RunOptions } from './types.js';
import type { WorkerPort } from './worker-link.js';

class FakeWorker implements WorkerPort {
  readonly heard: { kind: string; ticket?: number }[] = [];
  onmessage: WorkerPort['onmessage'] = null;
  onerror: WorkerPort['onerror'] = null;
  postMessage(message: { kind: string; ticket?: number }): void { this.heard.push(message); }
  terminate(): void { return; }
  async says(message: object): Promise<void> {
    this.onmessage?.({ data: { ticket: this.heard.at(-1)?.ticket, ...message } } as MessageEvent);
    await new Promise((done) => { setTimeout(done); });
  }
}

const OPTIONS: RunOptions = { columns: 2, window: null, split_by: 'adapter', in_sight: [] };
const VALUES = { seed: 1 };
const ANSWER = { summary: {}, charts: [] };
const refusal = (code: string): object => ({ kind: 'refused', errors: [{ severity: 'error', code, path: '', message: '', params: {} }] });

let made: FakeWorker[];
let run: BesideRun;
let network: EventTarget;
const asked = (): number => made.flatMap(({ heard }) => heard).filter(({ kind }) => kind === 'beside').length;
const codes = (): unknown => run.of(VALUES)?.errors.map(({ code }) => code);

beforeEach(() => {
  share({}, 'https://host/');
  network = new EventTarget();
  vi.stubGlobal('addEventListener', network.addEventListener.bind(network));
  vi.stubGlobal('removeEventListener', network.removeEventListener.bind(network));
  made = [];
  run = new BesideRun(() => {
    const worker = new FakeWorker();
    made.push(worker);
    return worker;
  });
  run.ask(VALUES, OPTIONS);
});
afterEach(() => { vi.unstubAllGlobals(); });

it('tells why it was refused, and is asked again on demand alone', async () => {
  await made[0]?.says(refusal('out_of_range'));
  expect(codes()).toEqual(['out_of_range']);
  // As an element does whenever it is drawn.
  run.ask(VALUES, OPTIONS);
  network.dispatchEvent(new Event('online'));
  expect(asked()).toBe(1);
  run.again();
  expect(codes()).toEqual([]);
  await made[0]?.says({ kind: 'reply', value: ANSWER });
  expect(run.of(VALUES)).toEqual({ asked: VALUES, answer: ANSWER, errors: [] });
  run.again();
  expect(asked()).toBe(2);
});

it('tells that its worker ended, and goes on in another one', async () => {
  await made[0]?.says({ kind: 'died', message: 'unreachable' });
  expect(codes()).toEqual(['internal']);
  expect(made).toHaveLength(1);
  run.again();
  await made[1]?.says({ kind: 'reply', value: ANSWER });
  expect(run.of(VALUES)?.answer).toEqual(ANSWER);
});

it('is asked again when the network is back, where it lacked something from there', async () => {
  await made[0]?.says(refusal('needs_table'));
  network.dispatchEvent(new Event('online'));
  expect(asked()).toBe(2);
  network.dispatchEvent(new Event('online'));
  expect(asked()).toBe(2);
  await made[0]?.says(refusal('needs_table'));
  run.end();
  network.dispatchEvent(new Event('online'));
  expect(asked()).toBe(2);
});
