// The ranking as CSV: the columns of the terminal's, in its order.
import type { CapacityMiss } from '../simulation/types.js';
import type { Row } from './capacity-state.js';

type Cell = string | number | boolean | null | undefined;

const QUANTILES = ['ttft_s', 'tbt_s', 'e2e_s', 'queue_s'];

function missed(miss: CapacityMiss): string {
  switch (miss.kind) {
    case 'bound': return `${miss.metric} ${String(miss.value_s ?? 'Infinity')} above ${String(miss.limit_s)}`;
    case 'unserved': return `${String(miss.requests)} of ${String(miss.offered)} not served`;
    case 'too_long': return `${(100 * miss.requests / miss.offered).toFixed(1)} % of the requests are too long for the service at any rate`;
    case 'growing': return `the queue grows by ${(100 * miss.growth).toFixed(1)} % of arrivals`;
  }
}

/** Columns but for the axes, the quantiles and the reason. */
const CELLS: Readonly<Record<string, (row: Row) => Cell>> = {
  rate_rps: ({ capacity }) => capacity?.rate_rps,
  missed_rps: ({ capacity }) => capacity?.missed_rps,
  gpus: ({ capacity }) => capacity?.price.gpus,
  usd_per_hour: ({ capacity }) => {
    const { gpus, usd_per_gpu_hour: usd } = capacity?.price ?? { gpus: 0, usd_per_gpu_hour: null };
    return usd === null ? null : gpus * usd;
  },
  requests_per_usd: ({ standing }) => standing?.requests_per_usd,
  output_tokens_per_s: ({ capacity }) => capacity?.measures?.output_tokens_per_s,
  ttft_front: ({ standing }) => standing?.is_on_ttft_front,
  tbt_front: ({ standing }) => standing?.is_on_tbt_front,
  rank: ({ standing }) => standing?.rank,
  load_rps: ({ standing }) => standing?.need?.load_rps,
  load_replicas: ({ standing }) => standing?.need?.replicas,
  load_gpus: ({ standing }) => standing?.need?.gpus,
  load_usd_per_hour: ({ standing }) => standing?.need?.usd_per_hour,
  load_share: ({ standing }) => standing?.need?.load_share,
  check: ({ check }) => check === null ? '' : check.miss === null ? 'holds' : `fails: ${missed(check.miss)}`,
  usd_per_gpu_hour: ({ capacity }) => capacity?.price.usd_per_gpu_hour,
  price_kind: ({ capacity }) => capacity?.price.kind,
  price_source: ({ capacity }) => capacity?.price.usd_per_gpu_hour === null ? null : capacity?.price.quote?.source,
  price_date: ({ capacity }) => capacity?.price.usd_per_gpu_hour === null ? null : capacity?.price.quote?.date,
};

/** The cells of a row; a column that is not known is an error, so that none is left out unseen. */
export function cellsOf(row: Row, axes: readonly string[], columns: readonly string[], reason: string): (string | number)[] {
  return columns.map((name, place) => {
    if (place < axes.length) return row.values[place] ?? '';
    if (name === 'reason') return reason;
    const quantile = QUANTILES.indexOf(name);
    if (quantile >= 0) return row.capacity?.measures?.quantile_s[quantile] ?? '';
    const of = CELLS[name];
    if (of === undefined) throw new Error(`the ranking has no column ${name}`);
    const value = of(row);
    return typeof value === 'boolean' ? String(value) : value ?? '';
  });
}
