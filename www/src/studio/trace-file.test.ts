// The way of files and steps to the simulator, where the studio or the simulator ends in between.
import { beforeEach, expect, it, vi } from 'vitest';
import { Refusal } from '../simulation/worker-link.js';
import type { SourceInfo } from '../simulation/types.js';
import type { Pipe } from '../state/traffic.js';
import { TraceFile, type TraceListener } from './trace-file.js';

interface Call { call: string; args: unknown; resolve: (value: unknown) => void; reject: (reason: Error) => void }

const studio = vi.hoisted(() => ({ calls: [] as Call[], lost: (): void => undefined }));

class Cancelled extends Error {
  override name = 'Cancelled';
}

vi.mock('./studio-link.js', () => ({
  StudioLink: class {
    constructor(_progress: unknown, lost: () => void) { studio.lost = lost; }
    call(call: string, args: unknown): Promise<unknown> {
      return new Promise((resolve, reject) => { studio.calls.push({ call, args, resolve, reject }); });
    }
    cancel(): void { end(new Cancelled()); }
  },
}));

/** Ends the studio as a cancelled reading or its death does. */
function end(reason: Error): void {
  for (const call of studio.calls.splice(0)) call.reject(reason);
  studio.lost();
}

const settle = (): Promise<void> => new Promise((done) => { setTimeout(done, 0); });

/** The calls that wait, by name; a file by its own. */
const waiting = (): string[] => studio.calls.map(({ call, args }) => {
  const { file, steps } = (args ?? {}) as { file?: File; steps?: string[] };
  return file === undefined ? (steps === undefined ? call : `${call} ${steps.join()}`) : `${call} ${file.name}`;
});

async function reply(value: unknown = {}): Promise<void> {
  studio.calls.shift()?.resolve(value);
  await settle();
}

const info = (name: string): SourceInfo => ({ name, format: 'vidur', requests: 3, span_s: 1, warnings: [] }) as unknown as SourceInfo;
const steps = (...names: string[]): Pipe => ({ join: 'concat', steps: names });
const died = new Refusal([{ severity: 'error', code: 'internal', path: '', message: 'unreachable', params: {} }]);

let ask: ReturnType<typeof vi.fn<(query: { kind: string }) => Promise<null>>>;
let listener: { [K in keyof TraceListener]: ReturnType<typeof vi.fn<TraceListener[K]>> };
let trace: TraceFile;

beforeEach(async () => {
  studio.calls.length = 0;
  ask = vi.fn(() => Promise.resolve(null));
  listener = { loaded: vi.fn(), changed: vi.fn(), refused: vi.fn(), cancelled: vi.fn() };
  trace = new TraceFile(ask as never, listener);
  void trace.load(new File([''], 'one.csv'));
  await settle();
  await reply(info('one.csv'));
  await reply();
  expect(listener.loaded).toHaveBeenCalledTimes(1);
});

/** Answers what a step asks: what it makes of the requests, and their columns. */
async function shaped(name: string): Promise<void> {
  expect(waiting()).toEqual([`apply_pipeline ${name}`]);
  await reply({ info: info('one.csv'), notes: [] });
  await reply();
}

it('applies a step whose trace was lost with a simulator that died, and every later one', async () => {
  ask.mockRejectedValueOnce(died);
  void trace.reshape(steps('thin'));
  await settle();
  await shaped('thin');
  await shaped('thin');
  expect(listener.changed).toHaveBeenCalledTimes(1);
  void trace.reshape(steps('window'));
  await settle();
  await shaped('window');
  expect(listener.changed).toHaveBeenCalledTimes(2);
});

it('tells at the step when the simulator dies of it each time, and applies the next', async () => {
  ask.mockRejectedValueOnce(died).mockRejectedValueOnce(died);
  void trace.reshape(steps('thin'));
  await settle();
  await shaped('thin');
  await shaped('thin');
  expect(trace.refusal.value?.code).toBe('internal');
  void trace.reshape(steps('window'));
  await settle();
  await shaped('window');
  expect(trace.refusal.value).toBeNull();
});

it('applies a step that ended with the reading of another file, once the studio has its files again', async () => {
  void trace.reshape(steps('thin'));
  void trace.load(new File([''], 'two.csv'));
  await settle();
  expect(waiting()).toEqual(['apply_pipeline thin', 'open two.csv']);
  await trace.cancel();
  await settle();
  expect(listener.cancelled).toHaveBeenCalledWith('two.csv');
  expect(waiting()).toEqual(['open one.csv']);
  await reply(info('one.csv'));
  // The studio's own, then the one for the simulator.
  await reply({ info: info('one.csv'), notes: [] });
  await shaped('thin');
  expect(listener.changed).toHaveBeenCalledWith('steps');
});

it('reads the newest file last, after those that a new studio is given again', async () => {
  void trace.load(new File([''], 'two.csv'));
  await settle();
  void trace.load(new File([''], 'three.csv'));
  await settle();
  expect(waiting()).toEqual(['open one.csv']);
  void trace.load(new File([''], 'four.csv'));
  await settle();
  expect(waiting()).toEqual(['open one.csv']);
  await reply(info('one.csv'));
  expect(waiting()).toEqual(['open four.csv']);
  await reply(info('four.csv'));
  expect(waiting()).toEqual(['columns']);
  await reply();
  expect(trace.info.value?.name).toBe('four.csv');
  expect(listener.cancelled.mock.calls).toEqual([['two.csv'], ['three.csv']]);
});
