// What a headline number says of its change since the last setting.
import type { Text } from '../i18n/text.js';
import type { SeedRange } from '../simulation/types.js';
import type { Metric } from './metrics.js';

export interface Change { shown: string; spoken: string; tone: 'better' | 'worse' | '' }

/** A change by less than this share has no tone, however clear it is. */
const LEAST_CHANGE = 0.01;

/**
 * The difference, as long as it shows in the digits that are shown. It has a tone only where the seeds have the same clear
 * difference as this run, and at the same rate: more requests change every number.
 */
export function changeOf(text: Text, metric: Metric, value: number | null, before: number | null, clear: SeedRange['difference']): Change {
  if (value === null || before === null) return { shown: '', spoken: '', tone: '' };
  const difference = Math.abs(value - before);
  const amount = metric.kind === 'share'
    ? text.format.withUnit(text.format.short(difference * 100), text.unit('points'))
    : text.format.of(metric.kind, difference);
  if (text.format.of(metric.kind, value) === text.format.of(metric.kind, before)) {
    return { shown: '=', spoken: text.t('metric.same'), tone: '' };
  }
  const up = value > before;
  const isSmall = difference < LEAST_CHANGE * Math.abs(before);
  const better = metric.good === 'neither' || isSmall || clear === null || up !== clear.difference > 0 ? null : up === (metric.good === 'more');
  return {
    shown: `${up ? '▲' : '▼'} ${amount}`,
    spoken: text.t(up ? 'metric.up' : 'metric.down', { amount }),
    tone: better === null ? '' : better ? 'better' : 'worse',
  };
}
