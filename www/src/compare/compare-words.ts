// What a comparison says of a metric, in the page's language.
import { compare } from '../i18n/en/compare.js';
import { MISSING } from '../i18n/format.js';
import type { Text } from '../i18n/text.js';
import type { ComparedMetric } from '../simulation/types.js';
import { isShare, nameOfMetric, valueOf } from './metric-words.js';

/** What two values differ by: shares in percentage points, which a relative difference is not. */
function apart(text: Text, path: string, value: number | null): string {
  return isShare(path) && value !== null ? text.say(compare)('points', { n: text.format.short(100 * value) }) : valueOf(text, path, value);
}

export interface Difference { difference: string; interval: string; relative: string }

/** The difference as cells of a table. */
export function differenceOf(text: Text, path: string, row: ComparedMetric): Difference {
  const say = text.say(compare);
  const value = (of: number | null): string => apart(text, path, of);
  const { low, high, relative } = row;
  return {
    difference: value(row.difference),
    interval: low === null || high === null ? MISSING : say('range', { low: value(low), high: value(high) }),
    relative: relative === null ? MISSING : text.format.share(relative),
  };
}

/** By how much B is lower or higher, or that there is no significant difference, relative to A where that is possible; then what there is to know of it. */
export function sentencesOf(text: Text, path: string, row: ComparedMetric): string[] {
  const say = text.say(compare);
  const name = nameOfMetric(text, path);
  const { difference, low, high } = row;
  if (difference === null) return [say('told.missing', { name })];
  if (row.no_batches !== null) return [ofOneRun(text, path, row), say(`no_batches.${row.no_batches}`)];
  const samples = row.batches === null ? say('seeds.counted', { n: row.seeds }) : say('batches.counted', { n: row.batches });
  if (low === null || high === null) return [say('told.one', { name })];
  return [ofSamples(text, path, { ...row, difference, low, high }, samples), ...batchesOf(text, row)];
}

/** From this relative difference on a factor is easier to read than a percentage, as in the terminal. */
const FACTOR_FROM = 2;

interface Told extends ComparedMetric { difference: number; low: number; high: number }

function ofSamples(text: Text, path: string, row: Told, samples: string): string {
  const say = text.say(compare);
  const name = nameOfMetric(text, path);
  const { difference, low, high } = row;
  if (difference === 0 && low === 0 && high === 0) return say('told.same', { name, samples });
  if (low <= 0 && high >= 0) return say('told.none', { name, samples });
  const isRelative = !isShare(path) && row.relative !== null && row.relative_low !== null && row.relative_high !== null;
  if (isRelative && (row.relative ?? 0) >= FACTOR_FROM) {
    const factor = (of: number | null): string => text.format.short(1 + (of ?? 0));
    return say('told.factor', { name, samples, size: factor(row.relative), low: factor(row.relative_low), high: factor(row.relative_high) });
  }
  const ends = isRelative ? [row.relative_low ?? 0, row.relative_high ?? 0] : [low, high];
  const sizes = ends.map(Math.abs).sort((one, other) => one - other);
  const shown = (of: number): string => isRelative ? text.format.share(of) : apart(text, path, of);
  const values = { name, samples, size: shown(Math.abs(isRelative ? (row.relative ?? 0) : difference)), low: shown(sizes[0] ?? 0), high: shown(sizes[1] ?? 0) };
  return difference < 0 ? say('told.lower', values) : say('told.higher', values);
}

/** What two runs differ by, without an interval. */
function ofOneRun(text: Text, path: string, { difference, relative }: ComparedMetric): string {
  const say = text.say(compare);
  const name = nameOfMetric(text, path);
  if (difference === null || difference === 0) return say('one_run.same', { name });
  if (!isShare(path) && relative !== null && relative >= FACTOR_FROM) return say('one_run.factor', { name, size: text.format.short(1 + relative) });
  const size = !isShare(path) && relative !== null ? text.format.share(Math.abs(relative)) : apart(text, path, Math.abs(difference));
  return say(difference < 0 ? 'one_run.lower' : 'one_run.higher', { name, size });
}

/** How one run was divided into batches. */
function batchesOf(text: Text, { batch_means: batches }: ComparedMetric): string[] {
  if (batches === null) return [];
  const say = text.say(compare);
  const { batch_requests: requests, cut_requests: cut, is_dependent: isDependent } = batches;
  return [say('batches.about', { requests, cut }), ...(isDependent ? [say('batches.dependent')] : [])];
}
