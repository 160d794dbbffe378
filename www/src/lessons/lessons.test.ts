// The lessons as files: their form, both languages, and every claim recomputed by running the simulator's own module.
import { readdirSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { PARAMETER_IDS } from '../generated/parameters.js';
import { SPEEDS } from '../hero/speeds.js';
import { placesOf } from '../i18n/area.js';
import type { LessonEntry } from '../state/lessons.js';
import { expectBothLanguages, pairsIn, readStatic, SEEDS, simulate, startModule, wordsIn } from '../../tests/simulated.js';
import { PICTURED } from './lesson-icon.js';
import { HERO, isPoint, orderOf, passes, truthOf, valuesOf, type Lesson, type Screen } from './lesson.js';
import { holds, runsIn, valueOf, type Runs } from './terms.js';

const FOLDER = new URL('../../../static/lessons/', import.meta.url);
const MOST_WORDS = 90;
const MOST_GOAL_WORDS = 40;

const read = (name: string): unknown => readStatic(`lessons/${name}`);
const index = read('index.json') as LessonEntry[];
const all = index.map(({ id }) => [id, read(`${id}.json`) as Lesson] as const);

function wordsOf({ text, result, predict }: Screen): number {
  const said = [text, ...(result === undefined ? [] : [result]), ...(predict === undefined ? [] : [predict.why])];
  return wordsIn(said);
}

beforeAll(startModule);

function runsOf(lesson: Lesson, screen: Screen, seed: number | null): Runs {
  const values = valuesOf(lesson, screen);
  return { main: simulate(values, seed), beside: screen.beside === undefined ? null : simulate({ ...values, ...screen.beside }, seed) };
}

it('every lesson is listed, once', () => {
  expect([...index.map(({ id }) => id), 'index'].sort()).toEqual(readdirSync(FOLDER).map((name) => name.replace(/\.json$/, '')).sort());
  const explained = index.flatMap(({ explains }) => explains);
  expect(new Set(explained).size).toBe(explained.length);
  for (const id of explained) expect(PARAMETER_IDS).toContain(id);
  expect([...PICTURED].sort(), 'a picture on its card').toEqual(index.map(({ id }) => id).sort());
});

describe.each(all)('the lesson %s', (id, lesson) => {
  const { screens, questions } = lesson;

  it('has six to nine screens, one of which shows where its rule fails', () => {
    expect(screens.length + 1).toBeGreaterThanOrEqual(6);
    expect(screens.length + 1).toBeLessThanOrEqual(9);
    expect(screens.filter(({ breaks }) => breaks).length).toBe(1);
    expect(screens[0]?.figure).toContain(HERO);
    for (const { speed, figure } of screens) if (speed !== undefined) expect([SPEEDS, figure]).toEqual([expect.arrayContaining([speed]), [HERO]]);
    expect(screens.filter(({ predict }) => predict !== undefined).length).toBeGreaterThan(0);
  });

  it('says everything in both languages, with the same numbers and controls', () => {
    for (const pair of pairsIn({ lesson, entry: index.find((entry) => entry.id === id) })) expectBothLanguages(pair);
  });

  it('is short', () => {
    const [first] = screens;
    expect(first?.text.en.split(/\s+/).length).toBeLessThanOrEqual(MOST_GOAL_WORDS);
    for (const screen of screens) expect(wordsOf(screen), screen.title.en).toBeLessThanOrEqual(MOST_WORDS);
  });

  it.each(screens.map((screen, place) => [place + 1, screen] as const))('screen %i fills its places, and names parameters that there are', (_place, screen) => {
    const used = new Set([screen.text, ...(screen.result === undefined ? [] : [screen.result]), ...(screen.predict === undefined ? [] : [screen.predict.why])].flatMap(({ en }) => [...placesOf(en)]));
    const known = new Set([...Object.keys(screen.values ?? {}), ...(screen.control === undefined ? [] : ['control'])]);
    expect(used).toEqual(known);
    for (const path of [...Object.keys({ ...lesson.scenario, ...screen.set, ...screen.beside }), ...(screen.control === undefined ? [] : [screen.control])]) expect(PARAMETER_IDS).toContain(path);
    if (screen.predict !== undefined) expect(placesOf(screen.text.en), 'a control after the prediction').not.toContain('control');
    if (screen.beside !== undefined) expect(screen.names).toBeDefined();
    const terms = [...Object.values(screen.values ?? {}), ...(screen.claims ?? [])];
    if (screen.beside === undefined) for (const term of terms) expect(runsIn(term)).not.toContain('beside');
    if (Object.keys(screen.values ?? {}).length > 0) expect(screen.claims?.length, 'a claim').toBeGreaterThan(0);
  });

  it.each(screens.map((screen, place) => [place + 1, screen] as const))('screen %i is right, on its own seed and others', (_place, screen) => {
    const { predict, claims = [], values = {} } = screen;
    let truth: number | null = null;
    for (const seed of [null, ...SEEDS]) {
      const runs = runsOf(lesson, screen, seed);
      expect(runs.main?.requests.offered).toBeGreaterThan(0);
      for (const term of Object.values(values)) expect(valueOf(term, runs), `${term}, seed ${String(seed)}`).not.toBeNull();
      for (const claim of claims) expect(holds(claim, runs), `${claim}, seed ${String(seed)}`).toBe(true);
      if (predict === undefined) continue;
      if (isPoint(predict)) {
        const value = valueOf(predict.value, runs) ?? NaN;
        expect(value).toBeGreaterThan(predict.min);
        expect(value).toBeLessThan(predict.max);
      } else {
        expect(predict.options).toHaveLength(3);
        expect(predict.options.filter(({ when }) => holds(when, runs) === true), `one option, seed ${String(seed)}`).toHaveLength(1);
        truth ??= truthOf(predict, runs);
        expect(truthOf(predict, runs), `seed ${String(seed)}`).toBe(truth);
      }
    }
  });

  it('ends with three questions that a guess does not pass', () => {
    expect(questions).toHaveLength(3);
    for (const { options, right, expected, screen } of questions) {
      expect(options).toHaveLength(4);
      expect(right).not.toBe(expected);
      for (const chosen of [right, expected]) expect(options[chosen]).toBeDefined();
      expect(screen).toBeLessThanOrEqual(screens.length);
    }
    // The same letter three times, or the longest option each time, is no answer either.
    expect(new Set(questions.map(({ right }) => right)).size).toBeGreaterThan(1);
    const longest = questions.map(({ options }) => options.map(({ en }) => en.length).indexOf(Math.max(...options.map(({ en }) => en.length))));
    expect(passes(questions, longest)).toBe(false);
    const attempts = Array.from({ length: 64 }, (_, code) => [code & 3, (code >> 2) & 3, code >> 4]);
    expect(attempts.filter((answers) => passes(questions, answers))).toHaveLength(1);
    expect(passes(questions, [null, null, null])).toBe(false);
  });
});

it('shows options in another order after an attempt', () => {
  for (const attempt of [0, 1, 2, 3]) expect([...orderOf(4, attempt, 1)].sort()).toEqual([0, 1, 2, 3]);
  expect(orderOf(4, 1, 0)).not.toEqual(orderOf(4, 0, 0));
});
