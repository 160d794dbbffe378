// The page's CSV of the ranking has the terminal's columns.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { cellsOf, plain } from './ranking-csv.js';
import type { Row } from './capacity-state.js';

const EMPTY: Row = { place: 0, values: ['2'], scenario: {}, capacity: null, described: { priced: '', unpriced: '', binding: '' }, charts: [], errors: [], standing: null, checks: [] };

/** The names of the columns in the source of the terminal's CSV. */
function columns(): string[] {
  const source = readFileSync(new URL('../../../crate/lab/src/capacity/ranking.rs', import.meta.url), 'utf8');
  const list = (name: string): string[] => {
    const found = new RegExp(`const ${name}: \\[&str; (\\d+)\\] =\\s*\\[([^\\]]*)\\]`).exec(source);
    const names = [...(found?.[2] ?? '').matchAll(/"([a-z_]+)"/g)].map(([, column]) => column ?? '');
    expect(names).toHaveLength(Number(found?.[1]));
    return names;
  };
  return [...list('RATE'), 'ttft_s', 'tbt_s', 'e2e_s', 'queue_s', 'tpot_s', ...list('SHOWN'), ...list('OF_LOAD'), 'reason'];
}

it('has a cell for every column of the terminal, and none without a search', () => {
  const cells = cellsOf(EMPTY, ['fleet.replicas'], ['fleet.replicas', ...columns()]);
  expect(cells).toEqual(['2', ...columns().slice(1).map(() => ''), '']);
});

it('knows of each column that is not the terminal’s', () => {
  expect(() => cellsOf(EMPTY, [], ['other'])).toThrow('other');
});

it('writes numbers as the terminal does', () => {
  expect([0.1, 12, 1e-7, 1.25e-9, 1e21, 1.5e22].map(plain)).toEqual(['0.1', '12', '0.0000001', '0.00000000125', '1000000000000000000000', '15000000000000000000000']);
});
