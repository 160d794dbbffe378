import { expect, it, vi } from 'vitest';
import { MissingPart, startedOnce } from './fetched.js';
import { errorsOf } from './types.js';

it('starts once, and again after an error', async () => {
  const start = vi.fn<() => Promise<string>>();
  start.mockRejectedValueOnce(new TypeError('Failed to fetch')).mockResolvedValue('there');
  const part = startedOnce(start);
  await expect(part()).rejects.toBeInstanceOf(MissingPart);
  await expect(part()).resolves.toBe('there');
  await expect(part()).resolves.toBe('there');
  expect(start).toHaveBeenCalledTimes(2);
});

it('is told as what it is, not as the browser’s own message', async () => {
  const thrown: unknown = await startedOnce(() => Promise.reject(new TypeError('Failed to fetch')))().catch((reason: unknown) => reason);
  expect(errorsOf(thrown).map(({ code }) => code)).toEqual(['missing_part']);
});
