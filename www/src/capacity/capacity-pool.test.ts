// A thread of the capacity search whose worker ends.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Refusal } from '../simulation/worker-link.js';
import { share } from '../simulation/start.js';
import type { ToSearcher } from './capacity-calls.js';
import { Thread } from './capacity-pool.js';

class FakeWorker {
  static readonly made: FakeWorker[] = [];
  readonly heard: ToSearcher[] = [];
  onerror: ((event: Partial<ErrorEvent>) => void) | null = null;
  constructor() { FakeWorker.made.push(this); }
  postMessage(message: ToSearcher): void { this.heard.push(message); }
  terminate(): void { return; }
}

beforeEach(() => {
  FakeWorker.made.length = 0;
  vi.stubGlobal('Worker', FakeWorker);
  share({}, 'https://host/');
});
afterEach(() => { vi.unstubAllGlobals(); });

const kinds = (): string[][] => FakeWorker.made.map(({ heard }) => heard.map(({ kind }) => kind));

it('starts no worker for one that ended before it is asked again', async () => {
  const thread = new Thread();
  const asked = thread.grid({});
  FakeWorker.made[0]?.onerror?.({});
  const refused: unknown = await asked.catch((reason: unknown) => reason);
  expect((refused as Refusal).failures.map(({ code }) => code)).toEqual(['missing_part']);
  expect(FakeWorker.made).toHaveLength(1);
  thread.grid({}).catch(() => undefined);
  expect(FakeWorker.made).toHaveLength(2);
});

it('gives the worker after it the trace and the profile that the others have', () => {
  const thread = new Thread();
  thread.play({ kind: 'trace', trace: null, profile: { name: 'own.txt', text: 'measured' } });
  thread.search({}, () => undefined).catch(() => undefined);
  FakeWorker.made[0]?.onerror?.({ message: 'unreachable' });
  thread.search({}, () => undefined).catch(() => undefined);
  expect(kinds()).toEqual([['start', 'trace', 'search'], ['start', 'trace', 'search']]);
});
