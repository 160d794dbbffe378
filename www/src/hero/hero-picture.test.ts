import { describe, expect, it } from 'vitest';
import { restOf } from './hero-data.js';
import { cellOf, columnsOf, drawPicture, roleOf, type Box } from './hero-picture.js';
import { cutsOf } from './signs.js';
import type { Moment, Place, PlaceKind, PoolMoment, Series } from '../simulation/types.js';

const series = (role: string, y: number[]): Series => ({
  role, mark: 'step', x: Float64Array.from(y, (_, index) => index * 10), y: Float64Array.from(y), y0: new Float64Array(), x2: new Float64Array(), id: new Float64Array(), label: '',
});

const pool = (name: string, own: Partial<PoolMoment> = {}): PoolMoment => ({
  name, computing: 0, loading: 0, replicas: 1, starting: 0, draining: 0, prompt_tokens: 0, decodes: 0, iteration_s: 0, kv_tokens: 0, adapter_tokens: 0, memory_tokens: 100, ...own,
});
const place = (kind: PlaceKind, ids: number[] = [], own: Partial<Place> = {}): Place => ({
  kind, requests: ids.length, ids, users: ids.map(() => 0), coming_s: [], phases: [], pool: kind === 'pool' ? pool('') : null, ...own,
});
const momentOf = (...places: Place[]): Moment => ({ time_s: 0, last_arrival_s: 0, end_s: 1, rejected: 0, places });
const SHARES = [22, 12, 20, 28, 18];
const PICTURE = { span: 5, shares: SHARES, colours: {}, byUser: false, marked: null, words: { kv: (of: PoolMoment) => [`kv ${of.name}`], iteration: () => '', more: (count: number) => `+${String(count)}` } };

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

/** A canvas that keeps what is drawn. */
function drawn(size: { width: number; height: number }, moment: Moment, marked: number | null = null): { rings: Box[]; squares: Box[]; words: { text: string; y: number }[] } {
  const found = { rings: [] as Box[], squares: [] as Box[], words: [] as { text: string; y: number }[] };
  const to = {
    lineWidth: 1,
    strokeRect(left: number, top: number, width: number, height: number) { if (this.lineWidth === 2) found.rings.push({ left, top, width, height }); },
    fillRect: (left: number, top: number, width: number, height: number) => { if (width === height && width > 0) found.squares.push({ left, top, width, height }); },
    fillText: (text: string, _left: number, y: number) => { found.words.push({ text, y }); },
  };
  const context = new Proxy(to, { get: (of, key) => Reflect.get(of, key) as unknown ?? ((): object => ({ width: 0 })) });
  drawPicture(context as unknown as CanvasRenderingContext2D, size, { ...PICTURE, moment, marked });
  return found;
}

describe('the request that is marked', () => {
  /** Columns in which a ring is drawn. */
  const columns = (...places: Place[]): number[] => {
    const size = { width: 1000, height: 100 };
    const boxes = columnsOf(size, SHARES);
    return drawn(size, momentOf(...places), 7).rings.map(({ left }) => boxes.findIndex((box) => left < box.left + box.width));
  };

  it('has its ring wherever it is', () => {
    expect(columns(place('coming', [7], { coming_s: [1] }))).toEqual([0]);
    expect(columns(place('gateway', [6, 7]))).toEqual([1]);
    expect(columns(place('queue', [7]))).toEqual([2]);
    expect(columns(place('pool', [7], { phases: [1] }))).toEqual([3]);
    expect(columns(place('gateway', [6]))).toEqual([]);
  });
});

describe('pools of a fleet', () => {
  it('stand below each other, each with its batch and its memory', () => {
    const two = [place('pool', [1, 2], { pool: pool('large') }), place('pool', [7], { pool: pool('small') })];
    const { rings, squares, words } = drawn({ width: 1000, height: 120 }, momentOf(...two), 7);
    const [above, below] = [squares.filter(({ top }) => top < 60), squares.filter(({ top }) => top >= 60)];
    expect([above.length, below.length]).toEqual([2, 1]);
    expect(rings.map(({ top }) => top > 60)).toEqual([true]);
    expect(words.filter(({ text }) => text !== '').map(({ text, y }) => [text, y < 60])).toEqual([['kv large', true], ['kv small', false]]);
  });
});

describe('requests for which there is no room', () => {
  it('are counted below the others', () => {
    const ids = Array.from({ length: 900 }, (_, id) => id);
    const { squares, words } = drawn({ width: 390, height: 90 }, momentOf(place('queue', ids, { requests: 3_000 })));
    const more = words.filter(({ text }) => text.startsWith('+'));
    expect(more).toHaveLength(1);
    expect(squares.length).toBeGreaterThan(0);
    expect(more[0]?.text).toBe(`+${String(3_000 - squares.length)}`);
    // A line of the picture's words is 11 px high, and stands on its place.
    expect(Math.max(...squares.map(({ top, height }) => top + height))).toBeLessThanOrEqual((more[0]?.y ?? 0) - 11);
  });
});
