// The tab of published results: every chart draws, its numbers are the terminal's, a point leads to its scenario.
import type { Page } from '@playwright/test';
import type { ChartView } from '../../src/draw/chart-view.js';
import { xToPixel, yToPixel } from '../../src/draw/plot.js';
import { control, drawn, expect, link, numberBox, ONLY_WHOLE, open, settled, test, violations } from './page.js';
import { printedUntil, terminal } from './terminal.js';

const SWEPT = ['n', 'rate', 'cv', 'alpha'].flatMap((sweep) => ['throughput', 'e2e', 'first_token', 'attainment'].map((measure) => `checked_${sweep}_${measure}`));
const CHARTS = [...SWEPT, 'checked_policies_attainment', 'checked_policies_rejected', 'checked_rpm_rejected', 'checked_rpm_throughput',
  'checked_run_first_token', 'checked_run_tokens', 'checked_run_gap'];

/** Dark or coloured pixels of points and curves. */
const MARKS = 100;

async function checked(page: Page, hash = ''): Promise<void> {
  await open(page, `#v=1&tab=published${hash}`);
  await ready(page);
}

async function ready(page: Page): Promise<void> {
  await expect(page.locator('validation-page')).toHaveAttribute('data-state', 'ready', { timeout: 20_000 });
}

test('every chart draws points and curves', async ({ page }) => {
  await open(page);
  await page.locator('[data-tab=validation]').click();
  await ready(page);
  for (const name of CHARTS) await drawn(page, name, MARKS);
  await expect(page.locator('[data-chart=checked_n_throughput] h3')).toHaveText('Throughput by adapters');
});

const THROUGHPUT = /^S2 n +20 .*?(\d\.\d{3}\/\d\.\d{3}).*(\d\.\d{3}\/\d\.\d{3}) /m;
const PREDICTED = /^S2 n +FCFS +20 .*?(\d\.\d{3})\/\d\.\d{3}/m;
const LIFO = /^S2 +LIFO +4 +(\d\.\d{3})/m;

test('numbers are the terminal’s', async ({ page }) => {
  test.skip(terminal() === null, 'the terminal is not built');
  test.setTimeout(120_000);
  // Its first three tables; the searches and the closed forms behind them take a minute.
  const printed = await printedUntil(['validate', '--quick'], [THROUGHPUT, PREDICTED, LIFO]);
  await checked(page);
  const cell = (measure: string): ReturnType<Page['locator']> => page.locator(`[data-point="n 20 fcfs"] td[data-measure=${measure}]`);
  const [throughput = '', attainment = ''] = THROUGHPUT.exec(printed)?.slice(1) ?? [];
  for (const [measure, pair] of [['throughput', throughput], ['attainment', attainment]] as const) {
    const [ours, theirs] = pair.split('/');
    expect(Number(await cell(measure).getAttribute('data-ours')).toFixed(3)).toBe(ours);
    expect(Number(await cell(measure).getAttribute('data-theirs')).toFixed(3)).toBe(theirs);
  }
  const predicted = PREDICTED.exec(printed)?.[1];
  expect(Number(await cell('throughput').getAttribute('data-one-run')).toFixed(3)).toBe(predicted);
  const lifo = LIFO.exec(printed)?.[1];
  const shown = page.locator('[data-point="policies 4 lifo"] td[data-measure=attainment]');
  expect(Number(await shown.getAttribute('data-ours')).toFixed(3)).toBe(lifo);
});

test('a click on a point sets its scenario; the way back leads to the points', async ({ page }) => {
  await checked(page);
  await page.locator('[data-chart=checked_n_throughput]').scrollIntoViewIfNeeded();
  // What stands above it may still be growing.
  await drawn(page, 'checked_n_throughput', MARKS);
  const spot = await page.locator('[data-chart=checked_n_throughput]').evaluate((element) => {
    const { chart, frame } = element as unknown as ChartView;
    const points = chart?.series.find(({ mark }) => mark === 'points');
    return { axes: chart === undefined ? null : { x: chart.x, y: chart.y }, frame, x: points?.x[1] ?? NaN, y: points?.y[1] ?? NaN };
  });
  if (spot.axes === null || spot.frame === null) throw new Error('not drawn');
  const position = { x: xToPixel(spot.frame, spot.axes.x, spot.x), y: yToPixel(spot.frame, spot.axes.y, spot.y) };
  await page.locator('[data-chart=checked_n_throughput] .plot').click({ position });
  await expect(page.locator('[data-tab=explore]')).toHaveAttribute('aria-current', 'page');
  await settled(page);
  await expect(numberBox(page, 'workload.adapters.count')).toHaveValue('20');
  expect(await link(page)).toContain('ranks=64,32,16,8');
  await expect(page.locator('[data-notice=opened_from_validation]')).toBeVisible();
  await page.goBack();
  await expect(page.locator('[data-tab=validation]')).toHaveAttribute('aria-current', 'page');
});

test('keys reach a point, and tables have links', async ({ page }) => {
  await checked(page);
  // Keys move between points that are drawn.
  await drawn(page, 'checked_cv_attainment', MARKS);
  await page.locator('[data-chart=checked_cv_attainment] .plot').focus();
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  await settled(page);
  await expect(numberBox(page, 'workload.arrivals.cv')).toHaveValue('8');
  await page.locator('[data-tab=validation]').click();
  await page.locator('#published-policies ~ .published-table summary').click();
  await page.locator('[data-point="policies 4 early_abort"] a').click();
  await expect(control(page, 'scheduler.order').locator('select')).toHaveValue('early_abort');
  await settled(page);
  await expect.poll(() => page.evaluate(() => scrollY)).toBe(0);
});

test('the A100’s suite has what was recorded of it', async ({ page }) => {
  await checked(page);
  await page.locator('#published-suite').selectOption('S4');
  await expect(page.locator('#published-alpha')).toHaveCount(0);
  await ready(page);
  await drawn(page, 'checked_rate_throughput', MARKS);
  await expect(page.locator('[data-chart=checked_rate_throughput] .legend')).toContainText('calibrated on one run');
});

test('a recorded run is chosen, and a scenario like it opens', async ({ page }) => {
  await checked(page);
  const row = page.locator('[data-run="VTC overload-multi"]');
  await row.getByRole('button').click();
  await expect(row).toHaveAttribute('aria-current', 'true');
  await expect(page.locator('.published-run')).toContainText('overload-multi');
  await drawn(page, 'checked_run_first_token', MARKS);
  await row.getByRole('link').click();
  await settled(page);
  await expect(control(page, 'scheduler.order').locator('select')).toHaveValue('vtc');
  await expect(numberBox(page, 'workload.adapters.count')).toHaveValue('8');
  await page.locator('[data-notice=opened_from_validation] .act').click();
  await expect(page.locator('[data-tab=validation]')).toHaveAttribute('aria-current', 'page');
});

for (const [colorScheme, language, rules] of [['light', 'en', 'all'], ['dark', 'zh', 'colours']] as const) {
  test(`axe finds nothing serious among published results, ${colorScheme}, ${language}`, colorScheme === 'dark' ? ONLY_WHOLE : {}, async ({ page }) => {
    await page.emulateMedia({ colorScheme });
    await checked(page, `&lang=${language}`);
    await page.locator('.published-table summary').first().click();
    expect(await violations(page, { rules })).toEqual([]);
  });
}
