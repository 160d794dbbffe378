import { expect, it } from 'vitest';
import { compare } from '../i18n/en/compare.js';
import { english } from '../i18n/languages.js';
import { Text } from '../i18n/text.js';
import type { ComparedMetric } from '../simulation/types.js';
import { sentencesOf } from './compare-words.js';

const text = new Text('en', english);

const ROW: ComparedMetric = {
  a: 2, b: 1.5, difference: -0.5, low: -0.6, high: -0.4, relative: -0.25, relative_low: -0.3, relative_high: -0.2, seeds: 20, batches: null,
  batch_means: null, no_batches: null, common_random_numbers_factor: null, sentence: '', note: null,
};
const NO_INTERVAL = { low: null, high: null, relative_low: null, relative_high: null, seeds: 1 };

const PERCENT = text.format.share(0.95);
const share = (of: number): string => text.format.share(of);
const of = (row: Partial<ComparedMetric>, path = 'ttft_s.mean'): string[] => sentencesOf(text, path, { ...ROW, ...row });

it('tells by how much, from the end of the interval that is nearer to nothing', () => {
  expect(of({})).toEqual([`B lowers mean TTFT by ${share(0.25)} (${PERCENT} interval ${share(0.2)} to ${share(0.3)}, 20 seeds).`]);
  expect(of({ b: 8, difference: 6, low: 4, high: 8, relative: 3, relative_low: 2, relative_high: 4 })).toEqual([`B raises mean TTFT by a factor of 4 (${PERCENT} interval 3 to 5, 20 seeds).`]);
  expect(of({ low: -0.6, high: 0.1 })).toEqual(['mean TTFT: no significant difference (20 seeds).']);
  expect(of({ ...NO_INTERVAL })).toEqual(['mean TTFT: no interval yet.']);
});

it('tells of one run how it was divided, or why it was not', () => {
  const batched = { batches: 20, seeds: 1, batch_means: { cut_requests: 35, batch_requests: 100, is_dependent: true } };
  expect(of(batched)).toEqual([
    `B lowers mean TTFT by ${share(0.25)} (${PERCENT} interval ${share(0.2)} to ${share(0.3)}, 20 batches of one run).`,
    'A batch has 100 requests; the first 35 are left out as warm-up (MSER-5).',
    text.say(compare)('batches.dependent'),
  ]);
  for (const reason of ['not_of_requests', 'not_settled', 'too_few'] as const) {
    expect(of({ ...NO_INTERVAL, no_batches: reason })).toEqual([`B lowers mean TTFT by ${share(0.25)} in this run.`, text.say(compare)(`no_batches.${reason}`)]);
  }
  expect(of({ ...NO_INTERVAL, difference: 6, relative: 3, no_batches: 'too_few' })[0]).toBe('B raises mean TTFT by a factor of 4 in this run.');
  expect(of({ ...NO_INTERVAL, difference: 0, relative: 0, no_batches: 'not_of_requests' })[0]).toBe('mean TTFT is the same in A and B in this run.');
  expect(of({ ...NO_INTERVAL, difference: 0.1, relative: 0.2, no_batches: 'too_few' }, 'gpu.busy')[0]).toBe('B raises the busy share of the GPUs by 10 pp in this run.');
});
