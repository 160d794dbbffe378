// The hand-over waits for the viewer, and talks to no other window.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { listens, type Ear, type Viewer } from './perfetto.js';

const PERFETTO = 'https://ui.perfetto.dev';

type Heard = Parameters<Parameters<Ear['addEventListener']>[1]>[0];

class Here implements Ear {
  readonly ears = new Set<(event: Heard) => void>();
  addEventListener(_kind: 'message', heard: (event: Heard) => void): void { this.ears.add(heard); }
  removeEventListener(_kind: 'message', heard: (event: Heard) => void): void { this.ears.delete(heard); }
  say(event: Heard): void { for (const heard of [...this.ears]) heard(event); }
}

/** A site that answers from the `loaded`th question on. */
class Site implements Viewer {
  closed = false;
  readonly asked: { message: unknown; origin: string }[] = [];
  constructor(private readonly here: Here, private readonly loaded: number, private readonly answer: Partial<Heard> = {}) {}
  postMessage(message: unknown, origin: string): void {
    this.asked.push({ message, origin });
    if (this.asked.length >= this.loaded) this.here.say({ origin: PERFETTO, source: this, data: 'PONG', ...this.answer });
  }
}

beforeEach(() => { vi.useFakeTimers(); });
afterEach(() => { vi.useRealTimers(); });

test('it asks until the site answers, and then no more', async () => {
  const here = new Here();
  const site = new Site(here, 3);
  const answered = listens(site, here);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await answered).toBe(true);
  expect(site.asked).toEqual(Array.from({ length: 3 }, () => ({ message: 'PING', origin: 'https://ui.perfetto.dev' })));
  expect(here.ears.size).toBe(0);
});

test('no other window can answer in its place', async () => {
  const here = new Here();
  for (const wrong of [{ origin: 'https://example.com' }, { source: null }, { data: 'PING' }]) {
    const answered = listens(new Site(here, 1, wrong), here, 1_000);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await answered).toBe(false);
  }
  expect(here.ears.size).toBe(0);
});

test('a window that was closed is given up at once', async () => {
  const here = new Here();
  const site = new Site(here, Infinity);
  const answered = listens(site, here);
  await vi.advanceTimersByTimeAsync(250);
  site.closed = true;
  await vi.advanceTimersByTimeAsync(100);
  expect(await answered).toBe(false);
  expect(site.asked.length).toBe(2);
});
