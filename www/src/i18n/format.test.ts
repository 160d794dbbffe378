import { describe, expect, it } from 'vitest';
import { Format, MISSING, secondsParts } from './format.js';

const english = new Format('en');
const plain = (text: string): string => text.replace(/\u202f/g, ' ');

describe('Format', () => {
  it('shows at most three significant digits', () => {
    expect(english.short(1.7834)).toBe('1.78');
    expect(english.short(12_345)).toBe('12,300');
    expect(english.short(0.000123456)).toBe('0.000123');
    expect(english.short(4e-17)).toBe('0');
  });

  it('shows short times in milliseconds', () => {
    expect(plain(english.seconds(6.123))).toBe('6.12 s');
    expect(plain(english.seconds(0.0312))).toBe('31.2 ms');
    expect(secondsParts(0)).toEqual([0, 's']);
  });

  it('shows shares in percent', () => {
    expect(plain(english.share(0.4987))).toBe('49.9 %');
    expect(plain(english.share(1))).toBe('100 %');
  });

  it('shows what is missing as missing', () => {
    expect(english.of('seconds', null)).toBe(MISSING);
    expect(english.of('number', NaN)).toBe(MISSING);
  });

  it('keeps every digit of a set value', () => {
    expect(english.exact(0.00189)).toBe('0.00189');
    expect(english.exact(14_500)).toBe('14,500');
  });
});
