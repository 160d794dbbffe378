// The numbers of a configuration, by which the ranking can be sorted.
import type { capacity } from '../i18n/en/capacity.js';
import type { NumberKind } from '../i18n/format.js';
import { checkOf, type Row } from './capacity-state.js';

/** Titles of columns with a number. */
type Key = keyof (typeof capacity)['english'] & `column.${'load_replicas' | 'load_gpus' | 'load_usd' | 'per_million' | 'headroom' | 'in_slo' | 'rate' | 'per_usd' | 'ttft' | 'tbt' | 'tpot' | 'gpu_usd'}`;

export interface Column { key: Key; name: string; kind: NumberKind; of: (row: Row) => number | null }

/** What the load takes: columns of the table. */
export const REPLICAS: Column = { key: 'column.load_replicas', name: 'load_replicas', kind: 'count', of: ({ standing }) => standing?.need?.replicas ?? null };
export const USD: Column = { key: 'column.load_usd', name: 'load_usd_per_hour', kind: 'number', of: ({ standing }) => standing?.need?.usd_per_hour ?? null };
export const PER_MILLION: Column = { key: 'column.per_million', name: 'load_usd_per_million_tokens', kind: 'number', of: ({ standing }) => standing?.need?.usd_per_million_tokens ?? null };
export const HEADROOM: Column = { key: 'column.headroom', name: 'headroom', kind: 'share', of: ({ standing }) => standing?.need?.headroom ?? null };

/** What is shown of a configuration on demand. */
export const DETAILS: readonly Column[] = [
  { key: 'column.load_gpus', name: 'load_gpus', kind: 'count', of: ({ standing }) => standing?.need?.gpus ?? null },
  { key: 'column.in_slo', name: 'in_slo', kind: 'share', of: (row) => checkOf(row)?.in_slo ?? null },
  { key: 'column.rate', name: 'rate_rps', kind: 'number', of: ({ capacity }) => capacity?.rate_rps ?? null },
  { key: 'column.per_usd', name: 'requests_per_usd', kind: 'count', of: ({ standing }) => standing?.requests_per_usd ?? null },
  { key: 'column.ttft', name: 'ttft_s', kind: 'seconds', of: ({ capacity }) => capacity?.measures?.quantile_s[0] ?? null },
  { key: 'column.tbt', name: 'tbt_s', kind: 'seconds', of: ({ capacity }) => capacity?.measures?.quantile_s[1] ?? null },
  { key: 'column.tpot', name: 'tpot_s', kind: 'seconds', of: ({ capacity }) => capacity?.measures?.quantile_s[4] ?? null },
  { key: 'column.gpu_usd', name: 'usd_per_gpu_hour', kind: 'number', of: ({ capacity }) => capacity?.price.usd_per_gpu_hour ?? null },
];

export const COLUMNS: readonly Column[] = [REPLICAS, USD, PER_MILLION, HEADROOM, ...DETAILS];

/** Rows by a column; those without its number come last. Without a column they stay as they are. */
export function sorted(rows: readonly Row[], column: Column | undefined, ascending: boolean): readonly Row[] {
  if (column === undefined) return rows;
  const sign = ascending ? 1 : -1;
  return [...rows].sort((one, other) => {
    const [a, b] = [column.of(one), column.of(other)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return sign * (a - b);
  });
}
