import { describe, expect, it } from 'vitest';
import { restOf } from './hero-data.js';
import { cellOf, COLUMNS, drawPicture, roleOf } from './hero-picture.js';
import { cutsOf } from './signs.js';
import type { Moment, Series } from '../simulation/types.js';

const series = (role: string, y: number[]): Series => ({
  role, mark: 'step', x: Float64Array.from(y, (_, index) => index * 10), y: Float64Array.from(y), y0: new Float64Array(), x2: new Float64Array(), id: new Float64Array(), label: '',
});

const NOWHERE: Moment = {
  time_s: 0, last_arrival_s: 0, end_s: 1, coming_s: [], coming_users: [], coming_ids: [], at_gateway: 0, gateway_users: [], gateway_ids: [], rejected: 0,
  waiting: 0, waiting_users: [], waiting_ids: [], running: 0, running_users: [], running_ids: [], running_phases: [], computing: 0, loading: 0, replicas: 1, starting: 0, draining: 0,
  prompt_tokens: 0, decodes: 0, iteration_s: 0, kv_tokens: 0, adapter_tokens: 0, pool_tokens: 0,
};

describe('the picture without a cursor', () => {
  it('shows the longest queue, in the middle of its column', () => {
    expect(restOf({ series: [series('waiting', [0, 3, 7, 2]), series('running', [1, 9, 4, 1])] })).toEqual({ time: 25, why: 'longest' });
  });

  it('shows the largest batch where nothing waits', () => {
    expect(restOf({ series: [series('waiting', [0, 0.2, 0]), series('running', [1, 9, 4])] })).toEqual({ time: 15, why: 'fullest' });
    expect(restOf(undefined)).toEqual({ time: 0, why: 'fullest' });
  });
});

describe('cells', () => {
  it('are as large as their number allows', () => {
    const box = { width: 100, height: 50 };
    expect(cellOf(1, box)).toBe(11);
    const sizes = [1, 40, 80, 150].map((count) => cellOf(count, box));
    expect(sizes).toEqual([...sizes].sort((one, other) => other - one));
    expect(cellOf(10_000, box)).toBe(0);
  });

  it('have one colour a user, and one for all others', () => {
    expect([0, 6, 7, 900].map(roleOf)).toEqual(['client_0', 'client_6', 'slo', 'slo']);
  });
});

describe('signs beside colours', () => {
  it('differ for every phase and every user that has a colour', () => {
    const roles = ['prefill', 'decode', 'stalled'];
    const users = [0, 1, 2, 3, 4, 5, 6, 7].map(roleOf);
    for (const among of [roles, users]) expect(new Set(among.map((role) => JSON.stringify(cutsOf(role)))).size).toBe(among.length);
  });
});

describe('the request that is marked', () => {
  /** Columns, by share of the width, in which a ring is drawn. */
  const rings = (moment: Partial<Moment>): number[] => {
    const found: number[] = [];
    const to = { lineWidth: 1, strokeRect(left: number) { if (this.lineWidth === 2) found.push(left); } };
    const context = new Proxy(to, { get: (of, key) => Reflect.get(of, key) as unknown ?? ((): object => ({ width: 0 })) });
    drawPicture(context as unknown as CanvasRenderingContext2D, { width: 1000, height: 100 }, {
      moment: { ...NOWHERE, ...moment }, span: 5, colours: {}, byUser: false, marked: 7, words: { kv: '', iteration: '', more: String },
    });
    return found.map((left) => COLUMNS.findIndex((_, place) => left < 10 * COLUMNS.slice(0, place + 1).reduce((sum, one) => sum + one, 0)));
  };

  it('has its ring wherever it is', () => {
    expect(rings({ coming_s: [1], coming_users: [0], coming_ids: [7] })).toEqual([0]);
    expect(rings({ at_gateway: 2, gateway_users: [0, 0], gateway_ids: [6, 7] })).toEqual([1]);
    expect(rings({ waiting: 1, waiting_users: [0], waiting_ids: [7] })).toEqual([2]);
    expect(rings({ running: 1, running_users: [0], running_ids: [7], running_phases: [1] })).toEqual([3]);
    expect(rings({ at_gateway: 1, gateway_users: [0], gateway_ids: [6] })).toEqual([]);
  });
});

describe('requests for which there is no room', () => {
  it('are counted below the others', () => {
    const squares: number[] = [];
    const words: { text: string; y: number }[] = [];
    const to = {
      fillRect: (_left: number, top: number, width: number, height: number) => { if (width === height && width > 0) squares.push(top + height); },
      fillText: (text: string, _left: number, y: number) => { words.push({ text, y }); },
    };
    const context = new Proxy(to, { get: (of, key) => Reflect.get(of, key) as unknown ?? ((): object => ({ width: 0 })), set: () => true });
    const ids = Array.from({ length: 900 }, (_, id) => id);
    drawPicture(context as unknown as CanvasRenderingContext2D, { width: 390, height: 90 }, {
      moment: { ...NOWHERE, waiting: 3_000, waiting_ids: ids, waiting_users: ids.map(() => 0) }, span: 5, colours: {}, byUser: false, marked: null,
      words: { kv: 'kv', iteration: '', more: (count) => `+${String(count)}` },
    });
    const more = words.filter(({ text }) => text.startsWith('+'));
    expect(more).toHaveLength(1);
    expect(squares.length).toBeGreaterThan(0);
    expect(more[0]?.text).toBe(`+${String(3_000 - squares.length)}`);
    // A line of the picture's words is 11 px high, and stands on its place.
    expect(Math.max(...squares)).toBeLessThanOrEqual((more[0]?.y ?? 0) - 11);
  });
});
