// A question is asked while its answer is shown, and again after it was refused.
import { beforeEach, expect, it, vi } from 'vitest';
import { Refusal } from '../simulation/worker-link.js';
import { OpenQuestion } from './open-question.js';
import { newSession, type Session } from './session.js';
import type { Topic } from '../lib/topic.js';

const settle = (): Promise<void> => new Promise((done) => { setTimeout(done, 0); });

let session: Topic<Session>;
let question: ReturnType<typeof vi.fn<() => Promise<string>>>;
let open: OpenQuestion<string>;

function answered(): void {
  session.update({ answer: { summary: {} as never, charts: new Map(), preview: false, trafficEnd: 0 } });
}

beforeEach(() => {
  session = newSession();
  question = vi.fn(() => Promise.resolve('view'));
  open = new OpenQuestion({ session, scheduler: { invalidateAll: vi.fn() } }, question);
  answered();
});

it('is asked while its answer is shown, after every run', async () => {
  await settle();
  expect(question).not.toHaveBeenCalled();
  open.look(true);
  await settle();
  expect(open.view.value).toBe('view');
  answered();
  await settle();
  expect(question).toHaveBeenCalledTimes(2);
});

it('shows why it was refused, and is asked again with the next run', async () => {
  question.mockRejectedValueOnce(new Refusal([{ severity: 'error', code: 'missing_part', path: '', message: '', params: {} }])).mockResolvedValue('view');
  open.look(true);
  await settle();
  expect(open.errors.value).toHaveLength(1);
  answered();
  await settle();
  expect(open.errors.value).toEqual([]);
  expect(open.view.value).toBe('view');
});

it('is asked again when it is looked at again after a refusal', async () => {
  question.mockRejectedValueOnce(new Refusal([]));
  open.look(true);
  await settle();
  open.look(false);
  open.look(true);
  await settle();
  expect(open.view.value).toBe('view');
});

it('hears of no run after its end, and asks again when it is looked at again', async () => {
  let listeners = 0;
  const subscribe = session.subscribe.bind(session);
  vi.spyOn(session, 'subscribe').mockImplementation((listener) => {
    listeners += 1;
    const end = subscribe(listener);
    return () => {
      listeners -= 1;
      end();
    };
  });
  for (let round = 1; round <= 30; round += 1) {
    open.look(true);
    await settle();
    expect(question).toHaveBeenCalledTimes(round);
    expect(listeners).toBe(1);
    open.end();
    answered();
  }
  await settle();
  expect(listeners).toBe(0);
  expect(question).toHaveBeenCalledTimes(30);
});
