import { describe, expect, it } from 'vitest';
import { Scale } from './scale.js';

const rate = new Scale({ min: 0.1, max: 50, scale: 'log', step: 0.01 }, false);
const alpha = new Scale({ min: 0.05, max: 1, scale: 'linear', step: 0.01 }, false);
const tokens = new Scale({ min: 1, max: 4096, scale: 'log', step: 1 }, true);
const fromZero = new Scale({ min: 0, max: 2000, scale: 'log', step: 1 }, true);

describe('Scale', () => {
  it('reaches both ends exactly', () => {
    for (const scale of [rate, alpha, tokens, fromZero]) {
      const { min, max } = scale.thumb;
      const [low, high] = [scale.fromThumb(min), scale.fromThumb(max)];
      expect(scale.part(low)).toBeCloseTo(0, 12);
      expect(scale.part(high)).toBeCloseTo(1, 12);
    }
    expect(rate.fromThumb(rate.thumb.max)).toBe(50);
    expect(fromZero.fromThumb(0)).toBe(0);
  });

  it('leaves no binary dust', () => {
    expect(alpha.fromThumb(0.30000000000000004)).toBe(0.3);
    expect(String(rate.fromThumb(100)).length).toBeLessThanOrEqual(5);
  });

  it('comes back to nearly the same value', () => {
    for (const value of [0.1, 0.5, 2, 17.3, 50]) {
      const again = rate.fromThumb(Math.round(rate.toThumb(value)));
      expect(Math.abs(again / value - 1)).toBeLessThan(0.03);
    }
  });

  it('pins what lies beyond the slider to its end', () => {
    expect(rate.toThumb(900)).toBe(rate.thumb.max);
    expect(alpha.toThumb(8)).toBe(1);
  });

  it('moves by a key to another value, always, until the end', () => {
    for (const scale of [rate, alpha, tokens, fromZero]) {
      const bottom = scale.fromThumb(scale.thumb.min);
      const top = scale.fromThumb(scale.thumb.max);
      let value = bottom;
      let presses = 0;
      while (value < top) {
        const next = scale.next(value, 1, 'fine');
        expect(next).toBeGreaterThan(value);
        value = next;
        presses += 1;
      }
      expect(value).toBe(top);
      expect(presses).toBeLessThan(300);
      expect(scale.next(top, 1, 'big')).toBe(top);
      expect(scale.next(bottom, -1, 'coarse')).toBe(bottom);
    }
  });

  it('moves further with coarse and big strides', () => {
    for (const scale of [rate, alpha, tokens]) {
      const from = scale.fromThumb((scale.thumb.min + scale.thumb.max) / 2);
      const [fine, coarse, big] = (['fine', 'coarse', 'big'] as const).map((stride) => scale.part(scale.next(from, 1, stride)));
      expect(coarse).toBeGreaterThan(fine ?? NaN);
      expect(big).toBeGreaterThan(coarse ?? NaN);
    }
  });

  it('keeps whole numbers whole', () => {
    for (let thumb = 0; thumb <= tokens.thumb.max; thumb += 1) expect(Number.isInteger(tokens.fromThumb(thumb))).toBe(true);
  });

  it('snaps to a mark nearby only', () => {
    expect(rate.snap(1.02, [1])).toBe(1);
    expect(rate.snap(1.5, [1])).toBe(1.5);
  });
});
