// A question that the worker may not be able to answer is asked a few times, never without end.
import { beforeEach, expect, it, vi } from 'vitest';
import type { App } from '../app.js';
import { Refusal } from '../engine/client.js';
import { OpenQuestion } from './open-question.js';
import { newSession, type Session } from './session.js';
import type { Topic } from './topic.js';

const settle = (): Promise<void> => new Promise((done) => { setTimeout(done, 0); });

let session: Topic<Session>;
let question: ReturnType<typeof vi.fn<() => Promise<string | null>>>;
let run: ReturnType<typeof vi.fn<() => void>>;
let open: OpenQuestion<string>;

function answered(): void {
  session.update({ answer: { summary: {} as never, charts: new Map(), preview: false } });
}

beforeEach(() => {
  session = newSession();
  question = vi.fn(() => Promise.resolve(null));
  run = vi.fn(answered);
  open = new OpenQuestion({ session, run, scheduler: { invalidateAll: vi.fn() } } as unknown as App, question);
  answered();
});

it('asks for one run with the larger module, and then says that it is missing', async () => {
  open.look(true);
  await settle();
  expect(run).toHaveBeenCalledTimes(1);
  expect(open.failures.value.map(({ code }) => code)).toEqual(['needs_engine']);
  answered();
  await settle();
  expect(run).toHaveBeenCalledTimes(1);
});

it('is answered by the run with the larger module', async () => {
  question.mockResolvedValueOnce(null).mockResolvedValue('view');
  open.look(true);
  await settle();
  expect(open.view.value).toBe('view');
  expect(open.failures.value).toEqual([]);
});

it('shows why it was refused, and is asked again with the next run', async () => {
  question.mockRejectedValueOnce(new Refusal([{ code: 'needs_engine', path: '', message: '', params: {} }])).mockResolvedValue('view');
  open.look(true);
  await settle();
  expect(open.failures.value).toHaveLength(1);
  answered();
  await settle();
  expect(open.failures.value).toEqual([]);
  expect(open.view.value).toBe('view');
});

it('tries again when it is looked at again', async () => {
  open.look(true);
  await settle();
  question.mockResolvedValueOnce(null).mockResolvedValue('view');
  open.look(false);
  open.look(true);
  await settle();
  expect(run).toHaveBeenCalledTimes(2);
  expect(open.view.value).toBe('view');
});
