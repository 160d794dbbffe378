// The essay as a reader scrolls through it: each figure shows its run, plays while it is looked at, and says what its controls give.
import { readFileSync } from 'node:fs';
import type { Locator, Page } from '@playwright/test';
import { essay as english } from '../../src/i18n/en/essay.js';
import type { Essay, Figure } from '../../src/essay/essay.js';
import { digest, expect, link, ONLY_WHOLE, open, test, violations } from './page.js';

const essay = JSON.parse(readFileSync(new URL('../../../static/essay/essay.json', import.meta.url), 'utf8')) as Essay;
const figureOf = (page: Page, number: number): Locator => page.locator(`essay-figure[data-number="${String(number)}"]`);

/** Scrolls to a figure and waits for its run. */
async function look(page: Page, number: number): Promise<Locator> {
  const figure = figureOf(page, number);
  await figure.locator('.essay-canvas').evaluate((element) => { element.scrollIntoView({ block: 'center', behavior: 'instant' }); });
  await expect(figure.locator('[data-state=ready]')).toHaveCount(1);
  await expect(figure.locator('canvas').first()).toHaveAttribute('data-drawn', /\d/);
  return figure;
}

/** The page does not scroll sideways, and no text of the essay is cut. */
async function cut(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found = [...document.querySelectorAll<HTMLElement>('essay-view :is(p, h2, h3, dt, dd, label, button, .essay-foot, .essay-beside)')]
      .filter((element) => element.checkVisibility() && !element.matches('.visually-hidden, .term') && element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).display !== 'inline')
      .map((element) => element.outerHTML.slice(0, 120));
    const { scrollWidth, clientWidth } = document.documentElement;
    return scrollWidth > clientWidth ? [...found, `the page is ${String(scrollWidth)} px wide`] : found;
  });
}

/** Moves the first control: a slider by a big stride, or to another case. */
async function move(figure: Locator, { controls = [] }: Figure): Promise<void> {
  const [control] = controls;
  if (control === undefined) return;
  if ('cases' in control) await figure.locator('.cases input').nth(control.first === 0 ? 1 : 0).check();
  else await figure.locator('.essay-control input').first().press('PageUp');
}

for (const language of ['en', 'zh'] as const) {
  for (const width of [1440, 390]) {
    test(`every figure shows its run, and its control changes what it says (${language}, ${String(width)} px)`, language === 'en' || width === 390 ? {} : ONLY_WHOLE, async ({ page }) => {
      test.slow();
      await page.setViewportSize({ width, height: 844 });
      await open(page, `#v=5&tab=learn.essay&lang=${language}`);
      await expect(page.getByRole('heading', { level: 2, name: essay.title[language] })).toBeVisible();
      await expect(page.locator('aside')).toBeHidden();
      for (const [index, figure] of essay.figures.entries()) {
        const shown = await look(page, index + 1);
        await expect(shown.getByRole('heading', { level: 3, name: figure.title[language] })).toBeVisible();
        const text = shown.locator('[data-text]');
        await expect(text.locator('[data-result]').filter({ hasText: /^…+$/ })).toHaveCount(0);
        const before = await text.innerText();
        await move(shown, figure);
        await expect.poll(() => text.innerText()).not.toBe(before);
        await expect(shown.locator('[data-state=ready]')).toHaveCount(1);
        await expect(text.locator('[data-result]').filter({ hasText: /^…+$/ })).toHaveCount(0);
      }
      expect(await cut(page)).toEqual([]);
      // At the top no control is half under the header.
      await page.evaluate(() => { scrollTo({ top: 0, behavior: 'instant' }); });
      expect(await violations(page, { within: 'essay-view', rules: language === 'zh' ? 'words' : 'all' })).toEqual([]);
    });
  }
}

test('a figure stands still where the reader asks for less motion, and follows the hand', async ({ page }) => {
  await open(page, '#v=5&tab=learn.essay.4');
  const figure = await look(page, 4);
  await expect(figure.locator('[data-action=play]')).toHaveCount(0);
  await expect(page.locator('essay-figure[data-playing]')).toHaveCount(0);
  const time = figure.locator('.essay-time');
  await expect(time).toHaveAttribute('data-time', String(essay.figures[3]?.still_s));
  const box = await figure.locator('.essay-canvas').boundingBox();
  if (box === null) throw new Error('no picture');
  await page.mouse.move(box.x + 100, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + 200, box.y + 60, { steps: 4 });
  await page.mouse.up();
  await expect.poll(async () => Number(await time.getAttribute('data-time'))).toBeGreaterThan(12.5);
  const dragged = Number(await time.getAttribute('data-time'));
  await figure.locator('.essay-foot input').press('ArrowLeft');
  await expect.poll(async () => Number(await time.getAttribute('data-time'))).toBeLessThan(dragged);
});

test.describe('with motion', () => {
  test.use({ contextOptions: { reducedMotion: 'no-preference' } });

  test('the figure that is looked at plays, and no other one', async ({ page }) => {
    await open(page, '#v=5&tab=learn');
    await expect(figureOf(page, 1)).toHaveAttribute('data-playing', '');
    const drawn = (number: number): Promise<number> => figureOf(page, number).locator('canvas').first().getAttribute('data-drawn').then(Number);
    const first = await drawn(1);
    await expect.poll(() => drawn(1)).not.toBe(first);
    await look(page, 3);
    await expect(figureOf(page, 3)).toHaveAttribute('data-playing', '');
    await expect(page.locator('essay-figure[data-playing]')).toHaveCount(1);

    const pause = figureOf(page, 3).locator('[data-action=play]');
    await pause.click();
    await expect(page.locator('essay-figure[data-playing]')).toHaveCount(0);
    await pause.click();
    await expect(figureOf(page, 3)).toHaveAttribute('data-playing', '');
  });

  test('one thread computes for all figures, and ends with the essay', async ({ page }) => {
    await open(page, '#v=5&tab=learn.essay');
    for (const number of [1, 2, 3]) await look(page, number);
    const threads = (): number => page.workers().filter((worker) => worker.url().includes('beside-worker')).length;
    expect(threads()).toBe(1);
    await page.locator('page-header [data-tab=plan]').click();
    await expect.poll(threads).toBe(0);
    await expect(page.locator('essay-figure[data-playing]')).toHaveCount(0);
    await page.locator('page-header [data-tab=learn]').click();
    await look(page, 2);
    await expect.poll(threads).toBe(1);
    await expect(figureOf(page, 2)).toHaveAttribute('data-playing', '');
  });
});

test('a figure is a link, opens in Explore with its settings, and the Back button leads back', async ({ page }) => {
  await open(page, '#v=5&R=3&tab=learn.essay.5');
  const figure = figureOf(page, 5);
  const title = page.locator('#figure-bursts');
  await expect(title).toBeInViewport();
  const before = await digest(page);
  const shown = await (await look(page, 5)).locator('[data-figure]').getAttribute('data-digest');
  await figure.getByRole('button', { name: english.english.explore }).click();
  await expect(page.locator('page-header [data-tab=explore][aria-current=page]')).toBeVisible();
  await expect.poll(() => digest(page)).not.toBe(before);
  expect(await digest(page)).toBe(shown);
  expect(await link(page)).toContain('cv=5');
  await page.goBack();
  await expect(title).toBeInViewport();
  // The essay leaves the reader's own settings as they were.
  expect(await digest(page)).toBe(before);
  expect(await link(page)).toContain('tab=learn.essay.5');
});

test('the address follows a reader who scrolls, and Back leads to where the reader came from', async ({ page }) => {
  await open(page, '#v=5&tab=explore');
  await page.locator('page-header [data-tab=learn]').click();
  await look(page, 1);
  expect(await link(page)).toMatch(/tab=learn$/);
  for (const number of [4, 2]) {
    await look(page, number);
    await expect.poll(() => link(page)).toContain(`tab=learn.essay.${String(number)}`);
    // Nothing leads the reader elsewhere.
    await expect(figureOf(page, number).locator('.essay-canvas')).toBeInViewport({ ratio: 1 });
  }
  const reached = await link(page);
  await page.goBack();
  await expect(page.locator('page-header [data-tab=explore][aria-current=page]')).toBeVisible();
  await open(page, reached);
  await expect(figureOf(page, 2).getByRole('heading', { level: 3 })).toBeInViewport();
});

test('a figure stands alone in a frame', async ({ page }) => {
  await open(page, '#v=5&tab=learn.essay.6&embed=lesson');
  await expect(page.locator('essay-figure')).toHaveCount(1);
  await look(page, 6);
  expect(await cut(page)).toEqual([]);
});
