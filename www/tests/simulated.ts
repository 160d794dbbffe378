// What checks of texts with numbers have in common: the files beside the page, both languages of a text, and runs of the simulator's own
// module.
import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import init, { Simulator, take_table } from '../pkg/servescope.js';
import { placesOf } from '../src/i18n/area.js';
import type { Words } from '../src/lessons/lesson.js';
import { isCallErrors, type Summary } from '../src/simulation/types.js';
import type { Values } from '../src/simulation/values.js';

const STATIC = new URL('../../static/', import.meta.url);
const LANGUAGES = ['en', 'zh'] as const;
/** Seeds beside a text's own; the quick check takes fewer. */
export const SEEDS = process.env['SERVESCOPE_WHOLE'] ? [1, 2, 3, 4, 5] : [1, 2];

export function readStatic(name: string): unknown {
  return JSON.parse(readFileSync(new URL(name, STATIC), 'utf8'));
}

/** Every pair of texts in a file. */
export function pairsIn(value: unknown): Words[] {
  if (typeof value !== 'object' || value === null) return [];
  if ('en' in value || 'zh' in value) return [value as Words];
  return Object.values(value).flatMap(pairsIn);
}

export function wordsIn(texts: readonly Words[]): number {
  return texts.map(({ en }) => en.split(/\s+/).length).reduce((sum, count) => sum + count, 0);
}

export function expectBothLanguages(pair: Words): void {
  for (const language of LANGUAGES) expect(pair[language].trim(), JSON.stringify(pair)).not.toBe('');
  expect(placesOf(pair.zh), pair.zh).toEqual(placesOf(pair.en));
  expect(pair.en).not.toMatch(/\p{Script=Han}/u);
  expect(pair.zh, pair.zh).not.toMatch(/\p{Script=Han}[A-Za-z0-9]|[A-Za-z0-9]\p{Script=Han}/u);
}

export async function startModule(): Promise<void> {
  await init({ module_or_path: readFileSync(new URL('../pkg/servescope_bg.wasm', import.meta.url)) });
}

/** Begins a run, with the operator table that it asks for. */
function begin(simulator: Simulator, values: Values): void {
  try {
    simulator.begin(values);
  } catch (thrown) {
    const file = isCallErrors(thrown) ? thrown.errors.find(({ code }) => code === 'needs_table')?.params['file'] : undefined;
    if (typeof file !== 'string') throw new Error(JSON.stringify(thrown), { cause: thrown });
    take_table(file, readFileSync(new URL(`profiles/${file}.txt`, STATIC), 'utf8'));
    simulator.begin(values);
  }
}

let simulator: Simulator | null = null;

/** The summary of a run; `seed`: in place of the scenario's own. */
export function simulate(values: Values, seed: number | null): Summary {
  simulator ??= new Simulator();
  begin(simulator, seed === null ? values : { ...values, seed });
  while (simulator.advance() < 1);
  return simulator.finish({ columns: 2, window: null, split_by: 'adapter', in_sight: [] }).summary;
}
