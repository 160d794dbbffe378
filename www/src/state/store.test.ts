import { describe, expect, it, vi } from 'vitest';
import type { Resolved } from '../simulation/resolved.js';
import { Store } from './store.js';
import { sameValue, type Values } from '../simulation/values.js';

/** `batch` has a default that follows `pool`. */
function resolve(values: Values): Resolved {
  const pool = typeof values['pool'] === 'number' ? values['pool'] : 600;
  const defaults = { rate: 2, pool: 600, batch: pool / 6, ranks: [8] };
  return { values: { ...defaults, ...values }, defaults, inactive: new Map(), problems: [] };
}

describe('Store', () => {
  it('holds only what differs from the defaults', () => {
    const store = new Store({ rate: 2, pool: 600 }, resolve);
    expect(store.values.value).toEqual({});
    store.edit({ rate: 3 }, 'rate');
    expect(store.values.value).toEqual({ rate: 3 });
    store.edit({ rate: 2 }, 'rate');
    expect(store.values.value).toEqual({});
  });

  it('lets a default that depends on another value follow it', () => {
    const store = new Store({}, resolve);
    store.edit({ batch: 100 }, 'batch');
    store.edit({ pool: 1200 }, 'pool');
    expect(store.resolved.values['batch']).toBe(200);
  });

  it('puts a parameter back with null', () => {
    const store = new Store({ rate: 5 }, resolve);
    store.edit({ rate: null }, 'rate');
    expect(store.values.value).toEqual({});
  });

  it('tells of a change once and not of what changes nothing', () => {
    const store = new Store({}, resolve);
    const heard = vi.fn();
    store.changes.subscribe(heard);
    store.edit({ rate: 3 }, 'rate');
    store.edit({ rate: 3 }, 'rate');
    store.edit({ ranks: [8] }, 'ranks');
    expect(heard).toHaveBeenCalledTimes(1);
    expect(heard).toHaveBeenCalledWith({ before: {}, after: { rate: 3 }, source: 'rate' });
  });

  it('never changes values in place', () => {
    const store = new Store({}, resolve);
    const before = store.values.value;
    store.edit({ rate: 3 }, 'rate');
    expect(before).toEqual({});
  });

  it('previews without doing', () => {
    const store = new Store({}, resolve);
    expect(store.preview({ rate: 9 }).values).toEqual({ rate: 9 });
    expect(store.values.value).toEqual({});
  });
});

describe('sameValue', () => {
  it('compares lists by their entries', () => {
    expect(sameValue([8, 16], [8, 16])).toBe(true);
    expect(sameValue([8, 16], [16, 8])).toBe(false);
    expect(sameValue([8], 8)).toBe(false);
  });
});
