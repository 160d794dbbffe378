import { describe, expect, it } from 'vitest';
import { columnsOf, layoutOf, markAt, pitchOf } from './layout.js';
import { momentOf, place, pool, SHARES } from './moments.js';

const SIZE = { width: 1000, height: 320 };
const GIVEN = { shares: SHARES, span: 5 };

describe('rows', () => {
  it('are as high as their number allows', () => {
    expect(pitchOf(1, 300)).toBe(18);
    expect(pitchOf(30, 300)).toBe(10);
    expect(pitchOf(10_000, 300)).toBe(3);
  });
});

describe('a request', () => {
  const tokens = { prompt_tokens: [300], output_tokens: [0] };

  it('is as long in the queue as in its seat and on its way', () => {
    const lengths = [
      place('coming', [7], { coming_s: [1], ...tokens }),
      place('gateway', [7], { prompt_tokens: [100], output_tokens: [0] }),
      place('queue', [7], tokens),
      place('pool', [7], { phases: [0], pool: pool('', { seats: 4 }), ...tokens }),
    ].map((one) => layoutOf(SIZE, momentOf(...(one.kind === 'pool' ? [one] : [one, place('pool')])), GIVEN).marks[0]?.prompt ?? 0);
    expect(lengths[0]).toBeCloseTo(lengths[3] ?? 0);
    expect(lengths[2]).toBeCloseTo(lengths[3] ?? 0);
    expect(lengths[1]).toBeCloseTo((lengths[3] ?? 0) / 3);
  });

  it('grows with its output, and never beyond its seat', () => {
    const bar = (output: number) => layoutOf(SIZE, momentOf(place('pool', [1], { phases: [1], prompt_tokens: [100], output_tokens: [output] })), GIVEN).marks[0];
    expect(bar(100)?.output).toBeCloseTo(bar(100)?.prompt ?? 0);
    const long = bar(1_000_000);
    expect((long?.left ?? 0) + (long?.prompt ?? 0) + (long?.output ?? 0)).toBeLessThanOrEqual(long?.edge ?? 0);
  });

  it('keeps its row while others come and go', () => {
    const rows = (ids: number[], seats: number[]) => new Map(layoutOf(SIZE, momentOf(place('pool', ids, { phases: ids.map(() => 1), seats, pool: pool('', { seats: 4 }) })), GIVEN).marks.map(({ id, top }) => [id, top]));
    expect(rows([1, 2, 3], [0, 1, 2]).get(3)).toBe(rows([3], [2]).get(3));
  });
});

describe('replicas of a pool', () => {
  it('have their batches beside each other', () => {
    const { marks, seats } = layoutOf(SIZE, momentOf(place('pool', [1, 2], { phases: [1, 1], replicas: [0, 1], seats: [0, 0], pool: pool('', { seats: 3, replicas: 2 }) })), GIVEN);
    expect(seats).toHaveLength(6);
    expect(marks[0]?.top).toBe(marks[1]?.top);
    expect(marks[0]?.edge ?? 0).toBeLessThan(marks[1]?.left ?? 0);
  });
});

describe('those on their way', () => {
  it('do not lie on each other, and the one under a pointer is found', () => {
    const ids = Array.from({ length: 12 }, (_, id) => id);
    const { marks } = layoutOf(SIZE, momentOf(place('coming', ids, { coming_s: ids.map((id) => 1 + id / 100), prompt_tokens: ids.map(() => 300) }), place('pool')), GIVEN);
    for (const one of marks) for (const other of marks) if (one !== other && one.top === other.top) expect(one.left >= other.left + other.prompt || other.left >= one.left + one.prompt).toBe(true);
    const [first] = marks;
    expect(markAt(marks, (first?.left ?? 0) + 2, (first?.top ?? 0) + 2)?.id).toBe(first?.id);
    expect(markAt(marks, 990, 300)).toBeNull();
  });
});

describe('requests for which there is no room', () => {
  it('are counted below the others', () => {
    const ids = Array.from({ length: 400 }, (_, id) => id);
    const { marks, more } = layoutOf({ width: 390, height: 120 }, momentOf(place('queue', ids, { requests: 3_000 }), place('pool')), GIVEN);
    expect(more).toHaveLength(1);
    expect(more[0]?.count).toBe(3_000 - marks.length);
    // A line of the picture's words is 11 px high, and stands on its place.
    expect(Math.max(...marks.map(({ top, height }) => top + height))).toBeLessThanOrEqual((more[0]?.top ?? 0) - 11);
  });
});

describe('columns', () => {
  it('have the shares of the numbers below them', () => {
    const lefts = columnsOf(SIZE, SHARES).map(({ left }) => left);
    expect(lefts).toEqual([...lefts].sort((one, other) => one - other));
  });
});
