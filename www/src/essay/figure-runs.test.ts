// The runs of the figures: one at a time, the figure in view first, the newest wish of each, and what becomes of refused ones.
import { beforeEach, expect, it } from 'vitest';
import { share } from '../simulation/start.js';
import type { WorkerPort } from '../simulation/worker-link.js';
import { FigureRuns, mayMend, type FigureAnswer } from './figure-runs.js';

const tick = (): Promise<void> => new Promise((done) => { setTimeout(done); });

interface Asked { kind: string; ticket: number; slot: number; scenario: { seed: number } }

class FakeWorker implements WorkerPort {
  readonly heard: Asked[] = [];
  isOver = false;
  onmessage: WorkerPort['onmessage'] = null;
  onerror: WorkerPort['onerror'] = null;
  postMessage(message: Asked): void { if (message.kind !== 'start') this.heard.push(message); }
  terminate(): void { this.isOver = true; }
  /** To the oldest question that has no reply. */
  async says(message: object): Promise<void> {
    const asked = this.heard.shift();
    this.onmessage?.({ data: { ticket: asked?.ticket, ...message } } as MessageEvent);
    await tick();
  }
  async answers(): Promise<void> {
    const seed = this.heard[0]?.scenario.seed;
    await this.says({ kind: 'reply', value: { summary: { seed }, charts: [] } });
  }
}

const error = (code: string): object => ({ severity: 'error', code, path: '', message: '', params: {} });

let made: FakeWorker[];
let runs: FigureRuns;
let said: string[];

function want(slot: number, seed: number, beside: number | null = null): void {
  runs.want({
    slot, values: { seed }, beside: beside === null ? null : { seed: beside }, charts: [],
    answered: ({ main, beside: other }: FigureAnswer) => { said.push(JSON.stringify([slot, main, other])); },
    failed: (errors) => { said.push(`${String(slot)} ${errors.map(({ code }) => code).join()}`); },
  });
}

const worker = (): FakeWorker => {
  const last = made.at(-1);
  if (last === undefined) throw new Error('no worker');
  return last;
};
const asked = (): string => worker().heard.map(({ slot, scenario }) => `${String(slot)}:${String(scenario.seed)}`).join(' ');

beforeEach(() => {
  share({}, 'https://host/');
  made = [];
  said = [];
  runs = new FigureRuns(() => {
    const next = new FakeWorker();
    made.push(next);
    return next;
  });
});

it('computes one figure after the other, that in view first', async () => {
  want(1, 10);
  want(2, 20);
  want(3, 30);
  runs.first = 3;
  expect(asked()).toBe('1:10');
  await worker().answers();
  expect(asked()).toBe('3:30');
  await worker().answers();
  expect(asked()).toBe('2:20');
  await worker().answers();
  expect(said).toEqual(['[1,{"seed":10},null]', '[3,{"seed":30},null]', '[2,{"seed":20},null]']);
  expect(made).toHaveLength(1);
});

it('computes the other run of a figure once', async () => {
  want(1, 10, 99);
  expect(asked()).toBe('-1:99');
  await worker().answers();
  await worker().answers();
  want(1, 11, 99);
  await tick();
  expect(asked()).toBe('1:11');
  await worker().answers();
  expect(said).toEqual(['[1,{"seed":10},{"seed":99}]', '[1,{"seed":11},{"seed":99}]']);
});

it('answers for the newest wish of a figure only', async () => {
  want(1, 10);
  want(1, 11);
  want(1, 12);
  await worker().answers();
  expect(asked()).toBe('1:12');
  await worker().answers();
  expect(said).toEqual(['[1,{"seed":12},null]']);
});

it('says why a run was refused, and goes on with the others', async () => {
  want(1, 10);
  want(2, 20);
  await worker().says({ kind: 'refused', errors: [error('needs_table')] });
  await worker().answers();
  expect(said).toEqual(['1 needs_table', '[2,{"seed":20},null]']);
  expect(mayMend([error('needs_table')] as Parameters<typeof mayMend>[0])).toBe(true);
  expect(mayMend([error('out_of_range')] as Parameters<typeof mayMend>[0])).toBe(false);
});

it('ends its thread, with what is wanted of it; the next wish starts another one', async () => {
  want(1, 10);
  want(2, 20);
  const moment = runs.moment(1, 0, 1);
  runs.end();
  expect(await moment).toBeNull();
  expect(made[0]?.isOver).toBe(true);
  await tick();
  expect(said).toEqual([]);
  want(2, 21);
  expect(made).toHaveLength(2);
  await worker().answers();
  expect(said).toEqual(['[2,{"seed":21},null]']);
});
