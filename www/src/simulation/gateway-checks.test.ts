import { describe, expect, it } from 'vitest';
import { arranged, CHECKS, moved, readChain, switched, writeChain, type Check } from './gateway-checks.js';

/** Every choice of checks in every order. */
function chains(rest: readonly Check[] = CHECKS): Check[][] {
  return [[], ...rest.flatMap((check) => chains(rest.filter((other) => other !== check)).map((tail) => [check, ...tail]))];
}

describe('the chain of checks', () => {
  it('is read as it was written', () => {
    for (const chain of chains()) expect(readChain(writeChain(chain))).toEqual(chain);
    expect(writeChain(['rpm', 'tpm', 'concurrency', 'queue'])).toBe('');
    expect(writeChain(['rpm', 'tpm', 'concurrency', 'queue', 'kv'])).toBe('rpm|tpm|concurrency|queue|kv');
    expect(writeChain([])).toBe('none');
    expect(readChain('kv| rpm |unknown')).toEqual(['kv', 'rpm']);
  });

  it('shows every check once, those that are made in their order, the others where they stood', () => {
    for (const on of chains()) {
      const shown = arranged(CHECKS, on);
      expect([...shown].sort()).toEqual([...CHECKS].sort());
      expect(shown.filter((check) => on.includes(check))).toEqual(on);
      for (const check of CHECKS) if (!on.includes(check)) expect(shown.indexOf(check)).toBe(CHECKS.indexOf(check));
    }
  });

  it('is the same after a check was switched off and on again', () => {
    for (const on of chains()) {
      const shown = arranged(CHECKS, on);
      for (const check of CHECKS) {
        const other = switched(shown, on, check);
        expect(other.includes(check)).toBe(!on.includes(check));
        expect(switched(arranged(shown, other), other, check)).toEqual(on);
      }
    }
  });

  it('has a moved check where the other stood', () => {
    for (const on of chains(CHECKS.slice(1))) {
      for (const check of on) {
        for (const target of on) {
          const after = moved(on, check, target);
          expect(after.indexOf(check)).toBe(on.indexOf(target));
          expect([...after].sort()).toEqual([...on].sort());
        }
      }
    }
  });
});
