import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Parts } from './parts.js';

const settle = (): Promise<void> => new Promise((done) => { setTimeout(done, 0); });
const changed = vi.fn();
let parts: Parts<'studio'>;

beforeEach(() => {
  changed.mockClear();
  vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  parts = new Parts(changed);
});
afterEach(() => { vi.restoreAllMocks(); });

it('fetches a part once and keeps it', async () => {
  const fetch = vi.fn(() => Promise.resolve('page'));
  parts.want('studio', fetch);
  expect(parts.state('studio')).toBe('fetching');
  await settle();
  parts.want('studio', fetch);
  expect(parts.value('studio')).toBe('page');
  expect([fetch, changed].map(({ mock }) => mock.calls.length)).toEqual([1, 1]);
});

it('says that a part is missing, does not try without end, and fetches it when asked again', async () => {
  const fetch = vi.fn<() => Promise<string>>();
  fetch.mockRejectedValueOnce(new TypeError('Failed to fetch')).mockResolvedValue('page');
  // As an element does that is drawn when something changes.
  const draw = (): void => { parts.want('studio', fetch); };
  changed.mockImplementation(draw);
  draw();
  await settle();
  expect(parts.state('studio')).toBe('missing');
  expect(fetch).toHaveBeenCalledTimes(1);
  parts.again('studio');
  await settle();
  expect(parts.value('studio')).toBe('page');
});
