import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Wait } from './pause.js';

describe('Wait', () => {
  beforeEach(() => { vi.useFakeTimers(); });
  afterEach(() => { vi.useRealTimers(); });

  const over = vi.fn();

  it('lasts its time', async () => {
    over.mockClear();
    const wait = new Wait();
    wait.cut();
    void wait.for(20).then(over);
    await vi.advanceTimersByTimeAsync(19);
    expect(over).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(over).toHaveBeenCalledOnce();
  });

  it('ends when it is cut short, and leaves no timer', async () => {
    over.mockClear();
    const wait = new Wait();
    void wait.for(20).then(over);
    wait.cut();
    await vi.advanceTimersByTimeAsync(0);
    expect(over).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  });
});
