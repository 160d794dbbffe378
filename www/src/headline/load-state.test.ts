// For which runs a cause is looked for.
import { expect, it } from 'vitest';
import type { Summary } from '../simulation/types.js';
import { mayHaveCause } from './load-state.js';

const of = (...codes: string[]): Pick<Summary, 'warnings'> => ({ warnings: codes.map((code) => ({ severity: 'warning', code, path: '', message: '', params: {} })) });

it('looks for a cause only where requests wait at the gateway or the backlog grows', () => {
  expect(mayHaveCause(of())).toBe(false);
  expect(mayHaveCause(of('backlog_burst', 'backlog_short', 'no_effect'))).toBe(false);
  expect(mayHaveCause(of('no_effect', 'backlog_at_gateway'))).toBe(true);
  expect(mayHaveCause(of('overloaded'))).toBe(true);
});
