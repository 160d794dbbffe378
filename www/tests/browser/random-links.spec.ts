// Links with settings drawn at random over all parameters, good and bad: whatever comes, the page shows a result with finite charts, or
// says why it has none.
import type { Page } from '@playwright/test';
import type { Parameter } from '../../src/simulation/types.js';
import { chances, expect, goTo, open, READY_MS, test, WHOLE } from './page.js';

const LINKS = WHOLE ? 500 : 12;
const SEED = 20_261;
/** A page takes over many links, and then another one is opened. */
const OF_ONE_PAGE = 50;
/** Settings that would make a run of many minutes are held below this; what is drawn of all others stays. */
const MOST: Readonly<Record<string, number>> = { 'workload.rate_rps': 20, 'workload.duration_s': 60, 'fleet.replicas': 16 };

type Draw = () => number;

const table = (page: Page): Promise<Parameter[]> => page.locator('servescope-page').evaluate((element) => (element as unknown as { app: { schema: { parameters: Parameter[] } } }).app.schema.parameters);

function among<T>(draw: Draw, all: readonly T[]): T | undefined {
  return all[Math.floor(draw() * all.length)];
}

/** On the slider mostly, otherwise anywhere within the bounds, and now and then beyond them. */
function numberOf(draw: Draw, { type, min = 0, max = 1e6, slider }: Parameter): number {
  const where = draw();
  const [low, high] = where < 0.7 && slider !== undefined ? [slider.min, slider.max] : [min, Math.min(max, 1e6)];
  const isWide = low > 0 && high / low > 100;
  const inside = isWide ? low * (high / low) ** draw() : low + draw() * (high - low);
  const value = where > 0.97 ? max * 2 + 1 : where > 0.94 ? min : inside;
  return type === 'integer' ? Math.round(value) : Number(value.toPrecision(4));
}

function valueOf(draw: Draw, parameter: Parameter): string {
  switch (parameter.type) {
    case 'number': case 'integer': return String(Math.min(numberOf(draw, parameter), MOST[parameter.id] ?? Infinity));
    case 'boolean': return String(draw() < 0.5);
    case 'choice': return among(draw, parameter.options) ?? '';
    case 'list': return Array.from({ length: 1 + Math.floor(draw() * 4) }, () => String(numberOf(draw, { ...parameter, type: 'number' }))).join(';');
    case 'text': return among(draw, ['', '1', '10,20;30,40', 'no such text']) ?? '';
  }
}

/** A link that sets a few parameters, or many. */
function linkOf(draw: Draw, parameters: readonly Parameter[]): string {
  const share = among(draw, [0.005, 0.02, 0.1, 0.4]) ?? 0.02;
  const chosen = parameters.filter(({ id }) => draw() < share || id in MOST);
  return `#v=4${chosen.map((parameter) => `&${parameter.key}=${encodeURIComponent(valueOf(draw, parameter))}`).join('')}`;
}

/** What is shown and is no number, or no word for people. */
async function flaws(page: Page): Promise<string[]> {
  return page.locator('servescope-page').evaluate((element) => {
    interface Told { name: string; x: { min: number; max: number }; y: { min: number; max: number }; series: (Record<'x' | 'y' | 'y0' | 'x2' | 'id', Float64Array> & { mark: string })[] }
    const { app } = element as unknown as { app: { session: { value: { answer: { charts: Map<string, Told> } | null } } } };
    const found: string[] = [];
    for (const { name, x, y, series } of app.session.value.answer?.charts.values() ?? []) {
      for (const bound of [x.min, x.max, y.min, y.max]) if (!Number.isFinite(bound)) found.push(`${name}: an axis ends at ${String(bound)}`);
      for (const [place, columns] of series.entries()) {
        for (const column of ['x', 'y', 'y0', 'x2', 'id'] as const) {
          // A line has a gap where there is nothing to draw, as the mean batch of a time without batches.
          const mayGap = column === 'y' && ['line', 'step'].includes(columns.mark);
          const bad = columns[column].find((value) => !Number.isFinite(value) && !(mayGap && Number.isNaN(value)));
          if (bad !== undefined) found.push(`${name}: ${column} of series ${String(place)} has ${String(bad)}`);
        }
      }
    }
    const words = /\b(?:NaN|Infinity|undefined|null|\[object \w+\])(?![\w-])/.exec((element as HTMLElement).innerText);
    return words === null ? found : [...found, `the page shows “${words[0]}”`];
  });
}

/** What the page says of a run without a result. */
async function reason(page: Page): Promise<string> {
  const printed = page.locator('stale-bar .stale-why');
  return `${await printed.getAttribute('data-code') ?? ''} ${(await printed.textContent() ?? '').trim()}`.trim();
}

test(`${String(LINKS)} links drawn at random are shown with finite charts, or refused with a reason`, async ({ page }) => {
  test.setTimeout(READY_MS + LINKS * 6_000);
  const draw = chances(SEED);
  await open(page);
  const parameters = await table(page);
  expect(parameters.length).toBeGreaterThan(250);
  const seen = { ready: 0, failed: 0 };
  for (let place = 0; place < LINKS; place += 1) {
    const link = linkOf(draw, parameters);
    await test.step(link, async () => {
      if (place % OF_ONE_PAGE === OF_ONE_PAGE - 1) await open(page, link);
      else await goTo(page, link);
      const state = await page.locator('html').getAttribute('data-state');
      if (state === 'failed') {
        seen.failed += 1;
        expect(await reason(page), link).toMatch(/^\S+ \S/);
      } else {
        seen.ready += 1;
      }
      expect(await flaws(page), link).toEqual([]);
    });
  }
  // Neither is the exception alone.
  expect(seen.ready).toBeGreaterThan(LINKS / 4);
});
