// The page's CSV of the ranking has the terminal's columns.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { cellsOf } from './ranking-csv.js';
import type { Row } from './capacity-state.js';

const EMPTY: Row = { place: 0, values: ['2'], scenario: {}, capacity: null, charts: [], failures: [], standing: null, check: null };

/** The names of the columns in the source of the terminal's CSV. */
function columns(): string[] {
  const source = readFileSync(new URL('../../../crate/lab/src/what_if/capacity/ranking.rs', import.meta.url), 'utf8');
  const list = (name: string): string[] => {
    const found = new RegExp(`const ${name}: \\[&str; (\\d+)\\] =\\s*\\[([^\\]]*)\\]`).exec(source);
    const names = [...(found?.[2] ?? '').matchAll(/"([a-z_]+)"/g)].map(([, column]) => column ?? '');
    expect(names).toHaveLength(Number(found?.[1]));
    return names;
  };
  return [...list('RATE'), 'ttft_s', 'tbt_s', 'e2e_s', 'queue_s', ...list('SHOWN'), ...list('OF_LOAD'), 'reason'];
}

it('has a cell for every column of the terminal, and none without a search', () => {
  const cells = cellsOf(EMPTY, ['fleet.replicas'], ['fleet.replicas', ...columns()], 'why');
  expect(cells).toEqual(['2', ...columns().slice(1).map(() => ''), 'why']);
});

it('knows of each column that is not the terminal’s', () => {
  expect(() => cellsOf(EMPTY, [], ['other'], '')).toThrow('other');
});

it('tells what the simulated replicas showed as the terminal does', () => {
  const check = { replicas: 2, rate_rps: 3, requests: 10, quantile_s: [null, null, null, null] as [null, null, null, null] };
  const told = (miss: NonNullable<Row['check']>['miss']): string | number => cellsOf({ ...EMPTY, check: { ...check, miss } }, [], ['check'], '')[0] ?? '';
  expect(told(null)).toBe('holds');
  expect(told({ kind: 'growing', growth: 0.125 })).toBe('fails: the queue grows by 12.5 % of arrivals');
});
