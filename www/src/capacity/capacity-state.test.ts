// What the Plan tab shows while its settings change.
import { expect, it, vi } from 'vitest';
import type { App } from '../app/app.js';
import { Topic } from '../lib/topic.js';
import { CapacityState } from './capacity-state.js';

vi.mock('../pool/shared-pool.js', () => ({ inputsOf: () => Promise.resolve({ trace: null, profile: null }) }));
vi.mock('../app/own-profile.js', async () => {
  const { Topic: Of } = await import('../lib/topic.js');
  return { ownProfile: new Of(null) };
});
/** The GPUs that a search begins with where none were chosen. */
vi.mock('../simulation/module.js', () => ({ gridToBeginWith: () => 'fleet.gpu=a,b' }));
/** One configuration, whose search ends when it is let go on. */
let ends: (() => void) | null = null;
vi.mock('./capacity-tasks.js', () => ({
  CapacityTasks: class {
    grid(scenario: object): Promise<object> {
      return Promise.resolve({ axes: [], columns: [], notes: [], configurations: [{ values: [], scenario }] });
    }

    standings(entries: readonly object[]): Promise<object> {
      return Promise.resolve({ standings: entries.map((_, place) => ({ place, is_next: false, need: null })), charts: [] });
    }

    check(): Promise<void> {
      return Promise.resolve();
    }

    async search(_: unknown, __: unknown, { found }: { found: (place: number, result: object) => void }): Promise<boolean> {
      let isOver = true;
      this.stop = () => { isOver = false; };
      await new Promise<void>((done) => { ends = done; });
      if (isOver) found(0, { capacity: { rate_rps: 2, load_rps: 1 }, described: {}, charts: [] });
      return isOver;
    }

    stop(): void { /* nothing is under way */ }
  },
}));

it('shows no answer of former settings, from the change on', async () => {
  vi.useFakeTimers();
  const values = new Topic<object>({});
  const app = {
    store: { values }, traceFile: { info: new Topic(null) }, view: new Topic({ tab: 'plan' }), scheduler: { invalidateAll: () => undefined }, text: { find: () => undefined },
  } as unknown as App;
  const search = new CapacityState(app);
  const settled = async (): Promise<void> => { await vi.advanceTimersByTimeAsync(500); };
  await settled();
  ends?.();
  await settled();
  expect(search.answer.value.state).toBe('ready');
  expect(search.shown?.capacity?.rate_rps).toBe(2);
  values.set({ 'fleet.gpu': 'other' });
  expect(search.answer.value.state).toBe('running');
  expect(search.shown).toBeUndefined();
  await settled();
  expect(search.shown?.capacity).toBeNull();
  // A change in the middle of a search: the search of before says nothing any more.
  const before = ends;
  values.set({ 'fleet.gpu': 'third' });
  before?.();
  await settled();
  expect(search.shown?.capacity).toBeNull();
  ends?.();
  await settled();
  // Where none were chosen, the current GPUs are compared, and the scenario stays without a choice.
  expect(search.shown?.scenario).toEqual({ 'fleet.gpu': 'third', 'capacity.grid': 'fleet.gpu=a,b' });
  expect(values.value).toEqual({ 'fleet.gpu': 'third' });
  expect(search.answer.value.state).toBe('ready');
  vi.useRealTimers();
});

it('keeps the ranking where a configuration of it is taken, and on the way back', async () => {
  vi.useFakeTimers();
  const first = { 'fleet.gpu': 'a', 'capacity.grid': 'fleet.gpu=a,b' };
  const values = new Topic<object>(first);
  const adopted: string[] = [];
  const app = {
    store: { values }, traceFile: { info: new Topic(null) }, view: new Topic({ tab: 'plan' }), scheduler: { invalidateAll: () => undefined }, text: { find: () => undefined },
    adopt: (taken: object, tab: string) => {
      adopted.push(tab);
      values.set(taken);
    },
  } as unknown as App;
  const search = new CapacityState(app);
  const settled = async (): Promise<void> => { await vi.advanceTimersByTimeAsync(500); };
  await settled();
  ends?.();
  await settled();
  const row = search.shown;
  expect(row?.capacity?.rate_rps).toBe(2);
  if (row === undefined) return;
  search.take(row, { 'fleet.gpu': 'b', 'fleet.replicas': 2 }, 'plan');
  expect(values.value).toEqual({ 'fleet.gpu': 'b', 'fleet.replicas': 2, 'capacity.grid': 'fleet.gpu=a,b' });
  await settled();
  expect([adopted, search.answer.value.state, search.shown?.capacity?.rate_rps]).toEqual([['plan'], 'ready', 2]);
  values.set({ ...first });
  await settled();
  expect([search.answer.value.state, search.shown?.capacity?.rate_rps]).toEqual(['ready', 2]);
  // What is neither is searched anew.
  values.set({ ...first, 'slo.ttft_s': 1 });
  expect(search.answer.value.state).toBe('running');
  ends?.();
  vi.useRealTimers();
});
