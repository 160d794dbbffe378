// Which changes of a headline number have a colour.
import { expect, it } from 'vitest';
import { english } from '../i18n/languages.js';
import { Text } from '../i18n/text.js';
import type { SeedRange } from '../simulation/types.js';
import { changeOf } from './change.js';
import { METRICS, type Metric } from './metrics.js';

const text = new Text('en', english);
const throughput = METRICS.find(({ id }) => id === 'throughput_rps') as Metric;
const clear = (difference: number): SeedRange['difference'] => ({ a: 1, b: 1 + difference, difference, low: difference, high: difference, seeds: 8 });

it('has a tone where the change is clear over the seeds and at least one per cent', () => {
  const tone = (value: number, before: number, over: Parameters<typeof changeOf>[4]): string => changeOf(text, throughput, value, before, over).tone;
  expect(tone(1.1, 1, clear(0.1))).toBe('better');
  expect(tone(0.9, 1, clear(-0.1))).toBe('worse');
  expect(tone(1.0099, 1, clear(0.0099))).toBe('');
  expect(tone(1.1, 1, null)).toBe('');
  expect(tone(1.1, 1, clear(-0.1))).toBe('');
});
