// Measured deployments on the Validation tab: the table is the file's own summary, filters and points lead to single rows.
import type { Locator, Page } from '@playwright/test';
import { drawn, expect, missed, open, test, violations } from './page.js';

interface Errors { count: number; mean: number; median: number; bias: number }
interface Both { ttft: Errors; tpot: Errors }
interface Summary { by: string; value: string; rows: number; answered: number; ours: Both; aiconfigurator: Both; both: { ours: Both; aiconfigurator: Both } }

/** The file has five figures of each time. */
const TOLERANCE = 1e-4;

const section = (page: Page): Locator => page.locator('deployments-section');
const all = (page: Page): Locator => section(page).locator('tbody[data-by=all] tr');

async function shown(page: Page): Promise<void> {
  await open(page, '#v=4&tab=validation');
  await expect(section(page)).toHaveAttribute('data-state', 'ready');
}

async function expectErrors(line: Locator, of: string, { count, mean, median, bias }: Errors): Promise<void> {
  const cell = line.locator(`[data-errors="${of}"]`);
  await expect(cell).toHaveAttribute('data-count', String(count));
  for (const [key, value] of Object.entries({ mean, median, bias })) {
    expect(Math.abs(Number(await cell.getAttribute(`data-${key}`)) - value), `${of} ${key}`).toBeLessThan(TOLERANCE);
  }
}

test('the table of all rows is the summary that the terminal wrote', async ({ page, request }) => {
  const { summary } = await (await request.get('published/deployments.json')).json() as { summary: Summary[] };
  const [every, clean] = summary;
  if (every === undefined || clean === undefined) throw new Error('no summary');
  await shown(page);
  await section(page).locator('[data-filter=backend]').selectOption('');
  for (const [printed, doubtful] of [[clean, false], [every, true]] as const) {
    await section(page).locator('[data-filter=doubtful]').setChecked(doubtful);
    for (const both of [false, true]) {
      await section(page).locator('[data-filter=both]').setChecked(both);
      const { ours, aiconfigurator } = both ? printed.both : printed;
      for (const measure of ['ttft', 'tpot'] as const) {
        await expectErrors(all(page), `own.${measure}`, ours[measure]);
        await expectErrors(all(page), `aiconfigurator.${measure}`, aiconfigurator[measure]);
      }
    }
    await expect(section(page).locator('[data-not-answered]')).toHaveAttribute('data-not-answered', String(printed.rows - printed.answered));
  }
});

test('a filter leaves its rows, and a row opens as a run', async ({ page }) => {
  await shown(page);
  for (const measure of ['ttft', 'tpot']) await drawn(page, `deployments_${measure}`, 100);
  await section(page).locator('[data-filter=model]').selectOption({ index: 1 });
  await section(page).locator('[data-filter=in_flight]').selectOption('1');
  await section(page).locator('[data-action=next]').click();
  const picked = section(page).locator('[data-deployment]');
  await expect(picked).toHaveCount(1);
  await expect(section(page).locator('tr[data-who=own] td')).toHaveCount(2);
  expect(await violations(page, { within: 'deployments-section' })).toEqual([]);

  await section(page).locator('[data-filter=model]').selectOption('');
  const opened = section(page).locator('[data-action=open]');
  for (let row = 0; row < 20 && await opened.count() === 0; row += 1) await section(page).locator('[data-action=next]').click();
  const before = await page.locator('html').getAttribute('data-digest') ?? '';
  await opened.click();
  await expect(page.locator('html')).toHaveAttribute('data-state', 'ready', { timeout: 60_000 });
  await expect(page.locator('[data-tab=explore]')).toHaveAttribute('aria-current', 'page');
  await expect(page.locator('.notice.error')).toHaveCount(0);
  await expect(page.locator('html')).not.toHaveAttribute('data-digest', before);
  expect(await page.locator('[data-metric]').evaluateAll((all) => all.filter((one) => /\d/.test(one.textContent)).length)).toBeGreaterThan(3);
});

test('without the file the tab says so', async ({ page, trouble }) => {
  await page.route('**/published/deployments.json', (route) => route.abort());
  await open(page, '#v=4&tab=validation');
  await expect(section(page)).toHaveAttribute('data-state', 'failed');
  await expect(section(page).locator('.notice.error')).toContainText('could not be fetched');
  await missed(trouble, 1);
});
