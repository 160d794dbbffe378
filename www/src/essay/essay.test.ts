// The essay as a file: its form, both languages, and every claim recomputed by running the simulator's own module, with the controls as
// they are at first, in each case and at both ends of every slider.
import { beforeAll, describe, expect, it } from 'vitest';
import { PARAMETER_IDS } from '../generated/parameters.js';
import { placesOf } from '../i18n/area.js';
import { holds, runsIn, valueOf, type Runs } from '../lessons/terms.js';
import { expectBothLanguages, pairsIn, readStatic, SEEDS, simulate, startModule, wordsIn } from '../../tests/simulated.js';
import { besideOf, casesOf, firstChosen, givenOf, isChoice, textsOf, valuesOf, type Chosen, type Essay, type Figure } from './essay.js';

const MOST_WORDS = 90;

const essay = readStatic('essay/essay.json') as Essay;
const figures = essay.figures.map((figure) => [figure.id, figure] as const);

beforeAll(startModule);

function runsOf(figure: Figure, chosen: Chosen, seed: number | null): Runs {
  const values = valuesOf(essay, figure, chosen);
  const beside = besideOf(figure, values);
  return { main: simulate(values, seed), beside: beside === null ? null : simulate(beside, seed), given: givenOf(essay, figure, chosen) };
}

/** What the controls say in each case, the others as they are at first. */
function everyCase(figure: Figure): Chosen[] {
  const first = firstChosen(essay, figure);
  const cases = (figure.controls ?? []).flatMap((control, place) => (isChoice(control) ? control.cases.map((_, at) => first.map((value, index) => (index === place ? at : value))) : []));
  return cases.length === 0 ? [first] : cases;
}

function ends(figure: Figure): Chosen[] {
  const first = firstChosen(essay, figure);
  return (figure.controls ?? []).flatMap((control, place) => (isChoice(control) ? [] : [control.range.min, control.range.max].map((end) => first.map((value, index) => (index === place ? end : value)))));
}

it('has seven or eight figures with names of their own', () => {
  expect(essay.version).toBe(5);
  expect(figures.length).toBeGreaterThanOrEqual(7);
  expect(figures.length).toBeLessThanOrEqual(8);
  expect(new Set(figures.map(([id]) => id)).size).toBe(figures.length);
});

it('says everything in both languages', () => {
  for (const pair of pairsIn(essay)) expectBothLanguages(pair);
});

describe.each(figures)('the figure %s', (_id, figure) => {
  const { controls = [], values = {}, claims = [] } = figure;

  it('is short, with at most two controls', () => {
    expect(controls.length).toBeLessThanOrEqual(2);
    for (const chosen of everyCase(figure)) expect(wordsIn(textsOf(figure, chosen))).toBeLessThanOrEqual(MOST_WORDS);
  });

  it('fills its places, and names parameters that there are', () => {
    const used = everyCase(figure).flatMap((chosen) => textsOf(figure, chosen)).flatMap(({ en }) => [...placesOf(en)]);
    expect(new Set(used)).toEqual(new Set(Object.keys(values)));
    const named = controls.flatMap((control) => (isChoice(control) ? control.cases.flatMap(({ set }) => Object.keys(set)) : [control.parameter]));
    for (const path of [...Object.keys({ ...essay.scenario, ...figure.set, ...figure.beside }), ...named]) expect(PARAMETER_IDS).toContain(path);
    const terms = [...Object.values(values), ...claims, ...(figure.bars ?? []).map(({ value }) => value)];
    if (figure.beside === undefined) for (const term of terms) expect(runsIn(term)).not.toContain('beside');
    // No parameter's name in a sentence.
    for (const { en, zh } of pairsIn(figure)) for (const text of [en, zh]) expect(text).not.toMatch(/[a-z]+_[a-z_]+/);
  });

  it('is right, on its own seed and others', () => {
    for (const chosen of everyCase(figure)) {
      const all = [...claims, ...casesOf(figure, chosen).flatMap((one) => one.claims ?? [])];
      expect(all.length, 'a claim').toBeGreaterThan(0);
      for (const seed of [null, ...SEEDS]) {
        const runs = runsOf(figure, chosen, seed);
        expect(runs.main?.makespan_s).toBeGreaterThan(figure.still_s);
        for (const term of [...Object.values(values), ...(figure.bars ?? []).map(({ value }) => value)]) expect(valueOf(term, runs), `${term}, seed ${String(seed)}`).not.toBeNull();
        for (const claim of all) expect(holds(claim, runs), `${claim}, seed ${String(seed)}`).toBe(true);
      }
    }
  });

  it('has all its numbers at the ends of its sliders', () => {
    for (const chosen of ends(figure)) {
      const runs = runsOf(figure, chosen, null);
      expect(runs.main?.requests.rejected_total).toBe(0);
      for (const term of Object.values(values)) expect(valueOf(term, runs), `${term} at ${chosen.join()}`).not.toBeNull();
    }
  });
});
