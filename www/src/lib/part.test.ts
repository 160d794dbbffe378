import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { part, remembersFailures } from './part.js';

beforeEach(() => { vi.useFakeTimers(); });
afterEach(() => { vi.useRealTimers(); });

const MODULE = { name: 'part' };
const none = (): Promise<never> => Promise.reject(new Error('none'));

it('asks once where that works', async () => {
  const fetch = vi.fn(() => Promise.resolve(MODULE));
  expect(await part(fetch)).toBe(MODULE);
  expect(fetch).toHaveBeenCalledTimes(1);
});

it('asks once more after a moment', async () => {
  const fetch = vi.fn<() => Promise<typeof MODULE>>().mockRejectedValueOnce(new TypeError('Failed to fetch dynamically imported module: https://host/a.js')).mockResolvedValue(MODULE);
  const asked = part(fetch);
  await vi.advanceTimersByTimeAsync(900);
  expect(fetch).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(200);
  expect(await asked).toBe(MODULE);
});

it('asks under another address where the browser remembers the failure', async () => {
  const fetch = vi.fn(() => Promise.reject<typeof MODULE>(new TypeError('error loading dynamically imported module: https://host/assets/a-1.js')));
  const module = vi.fn(() => Promise.resolve(MODULE));
  const asked = part(fetch, { module, style: none });
  await vi.advanceTimersByTimeAsync(1100);
  expect(await asked).toBe(MODULE);
  expect(module.mock.calls).toEqual([['https://host/assets/a-1.js?again']]);
  expect(fetch).toHaveBeenCalledTimes(1);
  expect(remembersFailures()).toBe(false);
});

it('asks for a style under another address, since the bundler would not', async () => {
  const fetch = vi.fn<() => Promise<typeof MODULE>>().mockRejectedValueOnce(new Error('Unable to preload CSS for https://host/assets/a-1.css')).mockResolvedValue(MODULE);
  const style = vi.fn(() => Promise.resolve(null));
  const asked = part(fetch, { module: none, style });
  await vi.advanceTimersByTimeAsync(1100);
  expect(await asked).toBe(MODULE);
  expect(style.mock.calls).toEqual([['https://host/assets/a-1.css?again']]);
});

it('says that the page has to be loaded anew where the failure stays', async () => {
  const first = new TypeError('error loading dynamically imported module: https://host/assets/a-1.js');
  const asked = part(() => Promise.reject(first), { module: none, style: none }).catch((thrown: unknown) => thrown);
  await vi.advanceTimersByTimeAsync(1100);
  expect(await asked).toBe(first);
  expect(remembersFailures()).toBe(true);
});

it('fails with the first error, which is the one that the page knows', async () => {
  const first = new TypeError('first');
  const fetch = vi.fn<() => Promise<typeof MODULE>>().mockRejectedValueOnce(first).mockRejectedValue(new TypeError('second'));
  const asked = part(fetch).catch((thrown: unknown) => thrown);
  await vi.advanceTimersByTimeAsync(1100);
  expect(await asked).toBe(first);
});
