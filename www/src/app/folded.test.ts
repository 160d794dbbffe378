import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FoldedWork } from './folded.js';

beforeEach(() => { vi.useFakeTimers(); });
afterEach(() => { vi.useRealTimers(); });

class Piece {
  times = 0;

  constructor(private readonly also = (): void => undefined) {}

  catchUp(): void {
    this.times += 1;
    this.also();
  }
}

describe('what is folded away', () => {
  it('waits for the answer, and is drawn once it is there', () => {
    let busy = true;
    const work = new FoldedWork(() => busy);
    const pieces = [new Piece(), new Piece(), new Piece()];
    for (const piece of pieces) work.add(piece);
    vi.runAllTimers();
    expect(pieces.map(({ times }) => times)).toEqual([0, 0, 0]);
    busy = false;
    work.wake();
    vi.runAllTimers();
    expect(pieces.map(({ times }) => times)).toEqual([1, 1, 1]);
  });

  it('is drawn once for many changes, when these have come to rest', () => {
    const work = new FoldedWork(() => false);
    const piece = new Piece();
    work.add(piece);
    vi.runAllTimers();
    for (let move = 0; move < 10; move += 1) {
      work.add(piece);
      vi.advanceTimersByTime(100);
    }
    expect(piece.times).toBe(1);
    vi.runAllTimers();
    expect(piece.times).toBe(2);
  });

  it('is drawn in the end where nothing ever comes to rest', () => {
    const work = new FoldedWork(() => false);
    const piece = new Piece();
    work.add(piece);
    vi.runAllTimers();
    for (let move = 0; move < 30; move += 1) {
      work.add(piece);
      vi.advanceTimersByTime(100);
    }
    expect(piece.times).toBe(2);
  });

  it('stops for an answer on its way', () => {
    let busy = false;
    const work = new FoldedWork(() => busy);
    const first = new Piece(() => {
      busy = true;
      // Longer than a piece of idle time.
      vi.advanceTimersByTime(20);
    });
    const second = new Piece();
    work.add(first);
    work.add(second);
    vi.runAllTimers();
    expect([first.times, second.times]).toEqual([1, 0]);
    busy = false;
    work.wake();
    vi.runAllTimers();
    expect([first.times, second.times]).toEqual([1, 1]);
  });
});
