// The bounds of the SLO that are set, as the page names them wherever it counts requests that meet them.
import type { Text } from '../i18n/text.js';

export interface Bounds { ttft_s: number | null; tpot_s: number | null; tbt_s: number | null }

/** "TTFT ≤ 6 s, TPOT ≤ 0.2 s"; a bound of 0 or none is off and left out. */
export function boundsOf(text: Text, { ttft_s, tpot_s, tbt_s }: Bounds): string {
  const named: [string, number | null][] = [['TTFT', ttft_s], ['TPOT', tpot_s], ['TBT', tbt_s]];
  return named
    .flatMap(([name, seconds]) => seconds === null || seconds === 0 ? [] : [`${name} ≤ ${text.format.of('seconds', seconds)}`])
    .join(text.t('slo.separator'));
}
