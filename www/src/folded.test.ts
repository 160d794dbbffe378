import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FoldedWork, type Folded } from './folded.js';

beforeEach(() => { vi.useFakeTimers(); });
afterEach(() => { vi.useRealTimers(); });

function piece(): Folded & { catchUp: ReturnType<typeof vi.fn> } {
  return { catchUp: vi.fn() };
}

describe('what is folded away', () => {
  it('waits for the answer, and is drawn once it is there', () => {
    let busy = true;
    const work = new FoldedWork(() => busy);
    const pieces = [piece(), piece(), piece()];
    for (const one of pieces) work.add(one);
    vi.runAllTimers();
    for (const one of pieces) expect(one.catchUp).not.toHaveBeenCalled();
    busy = false;
    work.wake();
    vi.runAllTimers();
    for (const one of pieces) expect(one.catchUp).toHaveBeenCalledTimes(1);
  });

  it('is drawn once for many changes, when these have come to rest', () => {
    const work = new FoldedWork(() => false);
    const one = piece();
    work.add(one);
    vi.runAllTimers();
    for (let move = 0; move < 10; move += 1) {
      work.add(one);
      vi.advanceTimersByTime(100);
    }
    expect(one.catchUp).toHaveBeenCalledTimes(1);
    vi.runAllTimers();
    expect(one.catchUp).toHaveBeenCalledTimes(2);
  });

  it('stops for an answer on its way', () => {
    let busy = false;
    const work = new FoldedWork(() => busy);
    const [first, second] = [piece(), piece()];
    first.catchUp.mockImplementation(() => { busy = true; vi.advanceTimersByTime(20); });
    work.add(first);
    work.add(second);
    vi.runAllTimers();
    expect(second.catchUp).not.toHaveBeenCalled();
    busy = false;
    work.wake();
    vi.runAllTimers();
    expect(second.catchUp).toHaveBeenCalledTimes(1);
  });
});
