import { describe, expect, it } from 'vitest';
import type { Mark } from './layout.js';
import { Motion } from './motion.js';

const mark = (id: number, place: Mark['place'], left: number): Mark => ({
  id, user: 0, adapter: null, place, role: 'decode', left, top: 0, height: 10, prompt: 20, output: 0, prompt_tokens: 20, output_tokens: 0, edge: left + 100,
});

describe('a request that changes its place', () => {
  it('moves there while the picture plays', () => {
    const motion = new Motion();
    motion.at([mark(1, 'queue', 100)], 0, true);
    const [first] = motion.at([mark(1, 'pool', 300)], 16, true);
    expect(first?.left).toBeGreaterThan(100);
    expect(first?.left).toBeLessThan(300);
    let last = first;
    for (let frame = 2; frame < 60; frame += 1) [last] = motion.at([mark(1, 'pool', 300)], frame * 16, true);
    expect(last?.left).toBe(300);
  });

  it('is where it is while the picture stands', () => {
    const motion = new Motion();
    motion.at([mark(1, 'queue', 100)], 0, true);
    expect(motion.at([mark(1, 'pool', 300)], 16, false)[0]?.left).toBe(300);
  });

  it('fades when it ends, and is gone', () => {
    const motion = new Motion();
    motion.at([mark(1, 'pool', 300)], 0, true);
    expect(motion.at([], 16, true)[0]?.alpha).toBe(1);
    const later = motion.at([], 200, true);
    expect(later[0]?.alpha).toBeGreaterThan(0);
    expect(later[0]?.alpha).toBeLessThan(1);
    expect(motion.at([], 600, true)).toEqual([]);
  });
});
