import { expect, test } from 'vitest';
import type { WhyGroup } from '../simulation/types.js';
import { shownOf, sum } from './groups.js';

function group(index: number | null, delayed_by_s: number[]): WhyGroup {
  return { index, requests: 1, causes_s: [sum(delayed_by_s)], delayed_by_s };
}

test('few groups stay as they are', () => {
  const groups = [group(0, [1, 2, 3]), group(1, [4, 5, 6])];
  expect(shownOf(groups)).toEqual(groups);
});

test('many groups are eight, rows and columns, with the same sums', () => {
  const count = 12;
  const groups = Array.from({ length: count }, (_, row) => group(row, Array.from({ length: count + 1 }, (_, column) => row * 100 + column)));
  const shown = shownOf(groups);
  expect(shown.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5, 6, null]);
  for (const { delayed_by_s } of shown) expect(delayed_by_s).toHaveLength(9);
  const total = (all: readonly WhyGroup[]): number => sum(all.map(({ delayed_by_s }) => sum(delayed_by_s)));
  expect(total(shown)).toBe(total(groups));
  // No request held it: the last column stays the last.
  expect(shown[2]?.delayed_by_s[8]).toBe(212);
  expect(shown[7]?.requests).toBe(5);
});
