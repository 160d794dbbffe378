// The ranking as CSV: byte for byte the terminal's.
import { checkOf, larger, type Row } from './capacity-state.js';

type Cell = string | number | boolean | null | undefined;

const QUANTILES = ['ttft_s', 'tbt_s', 'e2e_s', 'queue_s', 'tpot_s'];

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
  expected_error: ({ capacity }) => larger(capacity?.expected_error ?? null),
  cautious_replicas: ({ standing }) => standing?.need?.cautious_replicas,
  load_gpus: ({ standing }) => standing?.need?.gpus,
  load_usd_per_hour: ({ standing }) => standing?.need?.usd_per_hour,
  load_usd_per_million_tokens: ({ standing }) => standing?.need?.usd_per_million_tokens,
  load_share: ({ standing }) => standing?.need?.load_share,
  load_headroom: ({ standing }) => standing?.need?.headroom,
  load_in_slo: (row) => checkOf(row)?.in_slo,
  check: ({ capacity, errors, checks }) => capacity !== null && errors.length > 0
    ? `not simulated: ${errors.map(({ message }) => message).join('; ')}` : checks.map(({ described }) => described.check).join('; '),
  check_digest: (row) => checkOf(row)?.digest,
  limit: ({ described, checks }) => (described.binding === '' ? checks.at(-1)?.described.limit : described.binding),
  usd_per_gpu_hour: ({ capacity }) => capacity?.price.usd_per_gpu_hour,
  price_kind: ({ capacity }) => capacity?.price.kind,
  price_source: ({ capacity }) => capacity?.price.usd_per_gpu_hour === null ? null : capacity?.price.quote?.source,
  price_date: ({ capacity }) => capacity?.price.usd_per_gpu_hour === null ? null : capacity?.price.quote?.date,
};

function reasonOf({ capacity, errors, described, standing }: Row): string {
  if (capacity === null) return errors.map(({ message }) => message).join('; ');
  return standing?.unranked === 'no_price' ? described.unpriced : described.priced;
}

/** A number as Rust writes it: its shortest digits, without an exponent. */
export function plain(value: number): string {
  const text = String(value);
  const [, sign = '', whole = '', part = '', exponent = ''] = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(text) ?? [];
  if (exponent === '') return text;
  const [digits, shift] = [whole + part, Number(exponent)];
  if (shift < 0) return `${sign}0.${'0'.repeat(-shift - 1)}${digits}`;
  return `${sign}${digits.padEnd(shift + 1, '0')}`;
}

/** The cells of a row; a column that is not known is an error, so that none is left out unseen. */
export function cellsOf(row: Row, axes: readonly string[], columns: readonly string[]): string[] {
  return columns.map((name, place) => {
    if (place < axes.length) return row.values[place] ?? '';
    if (name === 'reason') return reasonOf(row);
    const quantile = QUANTILES.indexOf(name);
    const of = CELLS[name];
    if (quantile < 0 && of === undefined) throw new Error(`the ranking has no column ${name}`);
    const value = quantile >= 0 ? row.capacity?.measures?.quantile_s[quantile] : of?.(row);
    return typeof value === 'number' ? plain(value) : String(value ?? '');
  });
}

export function csvOf(rows: readonly Row[], axes: readonly string[], columns: readonly string[]): string {
  const lines = rows.map((row) => cellsOf(row, axes, columns).map(cell).join(','));
  return `${[columns.join(','), ...lines].join('\n')}\n`;
}

function cell(text: string): string {
  const line = Array.from(text, (letter) => (letter < ' ' ? ' ' : letter)).join('').trim();
  return /[",]/.test(line) ? `"${line.replaceAll('"', '""')}"` : line;
}
