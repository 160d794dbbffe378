import { describe, expect, it } from 'vitest';
import { restOf } from './hero-data.js';
import { cellOf, roleOf } from './hero-picture.js';
import type { Series } from '../simulation/types.js';

const series = (role: string, y: number[]): Series => ({
  role, mark: 'step', x: Float64Array.from(y, (_, index) => index * 10), y: Float64Array.from(y), y0: new Float64Array(), x2: new Float64Array(), id: new Float64Array(),
});

describe('the picture without a cursor', () => {
  it('shows the longest queue, in the middle of its column', () => {
    expect(restOf({ series: [series('waiting', [0, 3, 7, 2]), series('running', [1, 9, 4, 1])] })).toEqual({ time: 25, why: 'longest' });
  });

  it('shows the largest batch where nothing waits', () => {
    expect(restOf({ series: [series('waiting', [0, 0.2, 0]), series('running', [1, 9, 4])] })).toEqual({ time: 15, why: 'fullest' });
    expect(restOf(undefined)).toEqual({ time: 0, why: 'fullest' });
  });
});

describe('cells', () => {
  it('are as large as their number allows', () => {
    const box = { width: 100, height: 50 };
    expect(cellOf(1, box)).toBe(11);
    const sizes = [1, 40, 80, 150].map((count) => cellOf(count, box));
    expect(sizes).toEqual([...sizes].sort((one, other) => other - one));
    expect(cellOf(10_000, box)).toBe(0);
  });

  it('have one colour a user, and one for all others', () => {
    expect([0, 6, 7, 900].map(roleOf)).toEqual(['client_0', 'client_6', 'slo', 'slo']);
  });
});
