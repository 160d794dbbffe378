// The users or adapters of the matrix of delays.
import type { WhyGroup } from '../simulation/types.js';

/** Those that the matrix distinguishes; all others are one. */
const SHOWN = 8;

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** The groups with the most requests; all others are one, as a row and as a column. */
export function shownOf(groups: readonly WhyGroup[]): WhyGroup[] {
  if (groups.length <= SHOWN) return [...groups];
  const columns = (row: WhyGroup): number[] => {
    const by = row.delayed_by_s;
    return [...by.slice(0, SHOWN - 1), sum(by.slice(SHOWN - 1, -1)), by.at(-1) ?? 0];
  };
  const rest = groups.slice(SHOWN - 1);
  const added = (rows: readonly number[][]): number[] => (rows[0] ?? []).map((_, place) => sum(rows.map((row) => row[place] ?? 0)));
  const others: WhyGroup = {
    index: null,
    requests: sum(rest.map(({ requests }) => requests)),
    causes_s: added(rest.map(({ causes_s }) => causes_s)),
    delayed_by_s: added(rest.map(columns)),
  };
  return [...groups.slice(0, SHOWN - 1).map((row) => ({ ...row, delayed_by_s: columns(row) })), others];
}
