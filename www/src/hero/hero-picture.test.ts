import { describe, expect, it } from 'vitest';
import { restOf } from './hero-data.js';
import { drawPicture, roleOf } from './hero-picture.js';
import { columnsOf, type Box } from './layout.js';
import { momentOf, place, pool, SHARES } from './moments.js';
import { cutsOf } from './signs.js';
import type { Moment, Place, PoolMoment, Series } from '../simulation/types.js';

const series = (role: string, y: number[]): Series => ({
  role, mark: 'step', x: Float64Array.from(y, (_, index) => index * 10), y: Float64Array.from(y), y0: new Float64Array(), x2: new Float64Array(), id: new Float64Array(), label: '',
});

const PICTURE = { span: 5, shares: SHARES, colours: {}, byUser: false, marked: null, words: { kv: (of: PoolMoment) => [`kv ${of.name}`], batch: () => [''], slots: () => ['slots'], more: (count: number) => `+${String(count)}` } };

describe('the picture without a cursor', () => {
  it('shows the longest queue, in the middle of its column', () => {
    expect(restOf({ series: [series('waiting', [0, 3, 7, 2]), series('running', [1, 9, 4, 1])] })).toEqual({ time: 25, why: 'longest' });
  });

  it('shows the largest batch where nothing waits', () => {
    expect(restOf({ series: [series('waiting', [0, 0.2, 0]), series('running', [1, 9, 4])] })).toEqual({ time: 15, why: 'fullest' });
    expect(restOf(undefined)).toEqual({ time: 0, why: 'fullest' });
  });
});

describe('users', () => {
  it('have one colour each, and one for all others', () => {
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
function drawn(size: { width: number; height: number }, moment: Moment, marked: number | null = null): { rings: Box[]; words: { text: string; y: number }[] } {
  const found = { rings: [] as Box[], words: [] as { text: string; y: number }[] };
  const to = {
    lineWidth: 1,
    strokeRect(left: number, top: number, width: number, height: number) { if (this.lineWidth === 2) found.rings.push({ left, top, width, height }); },
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
    expect(columns(place('coming', [7], { coming_s: [1] }), place('pool'))).toEqual([0]);
    expect(columns(place('gateway', [6, 7]), place('pool'))).toEqual([1]);
    expect(columns(place('queue', [7]), place('pool'))).toEqual([2]);
    expect(columns(place('pool', [7], { phases: [1] }))).toEqual([3]);
    expect(columns(place('gateway', [6]), place('pool'))).toEqual([]);
  });
});

describe('pools of a fleet', () => {
  it('stand below each other, each with its batch, its memory and its adapter slots', () => {
    const two = [place('pool', [1, 2], { pool: pool('large', { seats: 2, lora_slots: 4 }), adapters: [3, null] }), place('pool', [7], { pool: pool('small') })];
    const { rings, words } = drawn({ width: 1000, height: 220 }, momentOf(...two), 7);
    expect(rings.map(({ top }) => top > 110)).toEqual([true]);
    expect(words.filter(({ text }) => text !== '').map(({ text, y }) => [text, y < 110])).toEqual([['kv large', true], ['slots', true], ['3', true], ['kv small', false]]);
  });
});
