// The lessons as a reader goes through them: by role and label, in both languages, wide and narrow.
import { readFileSync } from 'node:fs';
import type { Page } from '@playwright/test';
import { lessons as english } from '../../src/i18n/en/lessons.js';
import { lessons as chinese } from '../../src/i18n/zh/lessons.js';
import type { Lesson, Screen } from '../../src/lessons/lesson.js';
import type { LessonEntry } from '../../src/state/lessons.js';
import { chances, control, digest, expect, link, ONLY_WHOLE, open, settled, test, violations, WHOLE } from './page.js';

const FOLDER = new URL('../../../static/lessons/', import.meta.url);
const read = (name: string): unknown => JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), 'utf8'));
const index = read('index') as LessonEntry[];
const LANGUAGES = ['en', 'zh'] as const;
type Language = (typeof LANGUAGES)[number];
const WORDS = { en: english.english, zh: chinese };
const current = (tab: string): string => `page-header [data-tab=${tab}][aria-current=page]`;

/** Texts that are cut: wider than their box, which hides the rest; and a page that scrolls sideways. */
async function cut(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found = [...document.querySelectorAll<HTMLElement>('lesson-view *')].filter((element) => {
      const { overflowX } = getComputedStyle(element);
      return element.checkVisibility() && overflowX !== 'visible' && !element.matches('.visually-hidden, .plot, input') && element.scrollWidth > element.clientWidth + 1;
    }).map((element) => element.outerHTML.slice(0, 120));
    const { scrollWidth, clientWidth } = document.documentElement;
    return scrollWidth > clientWidth ? [...found, `the page is ${String(scrollWidth)} px wide`] : found;
  });
}

async function predict(page: Page, screen: Screen, language: Language): Promise<void> {
  const box = page.locator('.prediction');
  if ('value' in (screen.predict ?? {})) await box.getByRole('button', { name: WORDS[language]['predict.take'] }).click();
  else await box.getByRole('button', { name: screen.predict !== undefined && 'options' in screen.predict ? (screen.predict.options[0]?.text[language] ?? '') : '', exact: true }).click();
  await expect(box).toHaveAttribute('data-predicted', /\d/);
  if ('options' in (screen.predict ?? {})) await expect(box.locator('[data-truth=true]')).toHaveCount(1);
  await expect(box.getByRole('status')).not.toBeEmpty();
}

/** What a screen says is of its run, and its control changes that. */
async function look(page: Page, screen: Screen, language: Language): Promise<void> {
  await expect(page.getByRole('heading', { level: 3, name: screen.title[language], exact: true })).toBeVisible();
  await settled(page);
  if (screen.predict !== undefined) await predict(page, screen, language);
  const results = page.locator('lesson-view [data-result]');
  await expect(results.filter({ hasText: /^…+$/ })).toHaveCount(0);
  await expect(page.locator('lesson-view [data-moved]')).toHaveCount(0);
  if (screen.control === undefined) return;
  const box = page.locator(`lesson-view [data-parameter="${screen.control}"]`);
  await expect(box.locator('input, select')).toBeVisible();
  if (await box.locator('input').count() === 0) return;
  // A screen may show that its control changes nothing: its value does, and the link with it.
  const before = await link(page);
  await box.getByRole('spinbutton').press('ArrowUp');
  await expect.poll(() => link(page)).not.toBe(before);
  await settled(page);
  await expect(page.locator('lesson-view [data-moved]')).toHaveCount(0);
}

async function answer(page: Page, options: readonly number[], language: Language): Promise<void> {
  for (const [place, option] of options.entries()) await page.locator(`[data-question="${String(place)}"] input[value="${String(option)}"]`).check();
  await page.getByRole('button', { name: WORDS[language]['quiz.check'], exact: true }).click();
}

async function walk(page: Page, { id, title }: LessonEntry, language: Language): Promise<void> {
  const { screens, questions } = read(id) as Lesson;
  const words = WORDS[language];
  await open(page, `#v=4&tab=learn&lang=${language}`);
  await page.getByRole('button', { name: title[language] }).and(page.locator(`[data-lesson=${id}]`)).click();
  await expect(page.getByRole('heading', { level: 2, name: title[language], exact: true })).toBeVisible();
  for (const [place, screen] of screens.entries()) {
    await expect(page.locator('[data-screen]')).toHaveAttribute('data-screen', String(place + 1));
    await look(page, screen, language);
    expect(await cut(page), screen.title[language]).toEqual([]);
    // In the quick check one screen with a prediction and two runs, and the questions.
    if (WHOLE || place === 2) expect(await violations(page, { within: 'lesson-view' }), screen.title[language]).toEqual([]);
    await page.getByRole('button', { name: words.next, exact: true }).click();
  }
  const quiz = page.locator('lesson-quiz form');
  const right = questions.map((question) => question.right);
  const chance = chances(7);
  const guess = right.map(() => Math.floor(4 * chance()));
  expect(guess).not.toEqual(right);
  await answer(page, guess, language);
  await expect(quiz).toHaveAttribute('data-quiz', 'failed');
  await answer(page, right, language);
  await expect(quiz).toHaveAttribute('data-quiz', 'passed');
  expect(await cut(page)).toEqual([]);
  expect(await violations(page, { within: 'lesson-view' })).toEqual([]);
  await page.getByRole('button', { name: words.all }).click();
  await expect(page.locator(`[data-lesson=${id}] .passed`)).toBeVisible();
}

for (const [place, entry] of index.entries()) {
  for (const language of LANGUAGES) {
    for (const width of [1440, 390]) {
      const sampled = place === 0 && language === 'en' && width === 390;
      test(`the lesson ${entry.id} from start to end (${language}, ${String(width)} px)`, sampled ? {} : ONLY_WHOLE, async ({ page }) => {
        test.slow();
        await page.setViewportSize({ width, height: 900 });
        await walk(page, entry, language);
      });
    }
  }
}

test('a screen is a link, opens in the playground with the same digest, and the Back button leads back', async ({ page }) => {
  await open(page, '#v=4&tab=learn.burstiness.3');
  await expect(page.locator('[data-lesson=burstiness] [data-screen="3"]')).toBeVisible();
  const shown = await digest(page);
  await page.getByRole('button', { name: english.english['predict.skip'] }).click();
  await expect(page.locator('lesson-view [data-run=main] canvas')).toBeVisible();
  await page.getByRole('button', { name: english.english.playground }).click();
  await expect(page.locator(current('explore'))).toBeVisible();
  expect(await digest(page)).toBe(shown);
  await page.goBack();
  await expect(page.locator('[data-screen="3"]')).toBeVisible();
  await page.getByRole('button', { name: english.english.next, exact: true }).click();
  await expect(page.locator('[data-screen="4"]')).toBeVisible();
  await page.goBack();
  await expect(page.locator('[data-screen="3"]')).toBeVisible();
  expect(await digest(page)).toBe(shown);
  // The lesson is left at this screen, and opened there again.
  await open(page, '#v=4&tab=learn');
  await page.locator('[data-lesson=burstiness]').click();
  await expect(page.locator('[data-screen="3"] [data-predicted]')).toBeVisible();
});

test('a lesson begins without diagnostics; the playground has two in sight, and what is of one setting beside its control', async ({ page }) => {
  await open(page, '#tab=learn.fairness.1');
  await settled(page);
  await expect(page.locator('lesson-view')).toBeVisible();
  await expect(page.locator('status-area .warnings')).toBeHidden();
  await page.locator('[data-action=playground]').click();
  await expect(page.locator('status-area [data-code^=no_effect]')).toHaveCount(0);
  expect(await page.locator('status-area .warnings > ul > li').count()).toBeLessThanOrEqual(2);

  // Users are told apart by nothing but the tables.
  await open(page, '#v=4&D=60&u=4');
  await settled(page);
  await control(page, 'workload.users.count').evaluate((element) => { const group = element.closest('details'); if (group !== null) group.open = true; });
  await expect(control(page, 'workload.users.count').locator('.control-reason')).toContainText('tables by user');
});

test('a lesson that is left changes nothing behind the reader', async ({ page }) => {
  await open(page, '#v=4&tab=learn.burstiness.2');
  await expect(page.locator('[data-screen="2"]')).toBeVisible();
  await expect.poll(() => link(page)).toContain('R=1.2');
  const shown = await digest(page);
  await page.getByRole('button', { name: english.english.playground }).click();
  await expect(page.locator(current('explore'))).toBeVisible();
  expect(await link(page)).not.toContain('cv=5');
  expect(await digest(page)).toBe(shown);
  await page.locator('page-header [data-tab=learn]').click();
  await page.locator('[data-lesson=burstiness]').click();
  await expect(page.locator('[data-screen="2"]')).toBeVisible();
});

test('the help of a parameter leads to its lesson', async ({ page }) => {
  await open(page);
  const cv = control(page, 'workload.arrivals.cv');
  await cv.getByRole('button', { name: /Burstiness/ }).first().click();
  await cv.locator('[data-explained=burstiness]').click();
  await expect(page.locator('[data-lesson=burstiness] [data-screen="1"]')).toBeVisible();
});

test('settings that are not those of the screen are said so, and put back', ONLY_WHOLE, async ({ page }) => {
  await open(page, '#v=4&tab=learn.burstiness.2');
  await expect(page.locator('[data-screen="2"]')).toBeVisible();
  await page.locator('page-header [data-tab=learn]').click();
  await page.locator('[data-lesson=burstiness]').click();
  await expect(page.locator('[data-screen="2"]')).toBeVisible();
  await page.locator('lesson-view').getByRole('button', { name: english.english.next, exact: true }).click();
  await expect(page.locator('[data-screen="3"]')).toBeVisible();
  await settled(page);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.locator('[data-moved] button').click();
  await expect(page.locator('[data-moved]')).toHaveCount(0);
});

test('no lesson covers its lower part or scrolls sideways on a small screen', ONLY_WHOLE, async ({ page }) => {
  test.setTimeout(900_000);
  await page.setViewportSize({ width: 320, height: 700 });
  for (const { id } of index) {
    const { screens } = read(id) as Lesson;
    for (const language of LANGUAGES) {
      for (let screen = 1; screen <= screens.length + 1; screen += 1) {
        await open(page, `#v=4&tab=learn.${id}.${String(screen)}&lang=${language}`);
        await expect(page.locator('[data-screen]')).toBeVisible();
        expect(await cut(page), `${id} ${String(screen)}`).toEqual([]);
        await expect(page.locator('aside')).toBeHidden();
      }
    }
  }
});
