// The load as a share of the capacity, the bounds that "SLO met" counts, and that the search has them as its own.
import { execFileSync } from 'node:child_process';
import { expect, numberBox, open, test } from './page.js';
import { PROGRAM, terminal } from './terminal.js';

const LOAD = '[data-metric="load.share"]';

test('the load is found in idle time, is the terminal’s, and is an estimate again when a control moves', async ({ page }) => {
  test.skip(terminal() === null, 'the terminal is not built');
  await open(page, '#v=2&R=1');
  await expect(page.locator(LOAD)).toHaveAttribute('data-state', 'found', { timeout: 20_000 });
  const { load } = JSON.parse(execFileSync(PROGRAM, ['simulate', '--set', 'workload.rate_rps=1', '--load', '--json'], { encoding: 'utf8' })) as { load: { share: number } };
  expect(Number(await page.locator(LOAD).getAttribute('data-value'))).toBe(load.share);
  await numberBox(page, 'workload.rate_rps').fill('1.2');
  await numberBox(page, 'workload.rate_rps').press('Enter');
  await expect(page.locator(LOAD)).toHaveAttribute('data-state', 'estimate');
  await expect(page.locator(LOAD)).toContainText(/[≈≥]/u);
  await expect(page.locator(LOAD)).toHaveAttribute('data-state', 'found', { timeout: 20_000 });
  expect(Number(await page.locator(LOAD).getAttribute('data-value'))).toBeGreaterThan(load.share);
  await expect(page.locator('.headline-details [data-metric="gpu.busy"]')).not.toBeEmpty();
});

test('“SLO met” names the bounds that are set and counts them', async ({ page }) => {
  await open(page, '#v=2');
  const met = page.locator('[data-metric="slo.attainment_all"]');
  await expect(met.locator('.slo-bounds')).toHaveText(/TTFT ≤ 6.*TPOT ≤ 0\.2/u);
  const before = Number(await met.getAttribute('data-value'));
  await open(page, '#v=2&sltb=0.3&slob=0');
  await expect(met.locator('.slo-bounds')).toHaveText(/TTFT ≤ 6.*TBT ≤ 0\.3/u);
  await expect.poll(async () => Number(await met.getAttribute('data-value'))).toBeLessThan(before);
});

test('the SLO is the goal of the Plan tab', async ({ page }) => {
  await open(page, '#v=2&tab=capacity&slot=4');
  await expect(page.locator('.slo-link')).toContainText('TTFT ≤ 4');
  await page.locator('[data-plan="slo.tbt_s"] input').fill('0.3');
  await page.locator('[data-plan="slo.tbt_s"] input').press('Enter');
  await expect(page.locator('.slo-link')).toContainText('TBT ≤ 0.3');
  await page.locator('details[data-fold=own-bounds] > summary').click();
  await numberBox(page, 'capacity.ttft_s').fill('3');
  await numberBox(page, 'capacity.ttft_s').press('Enter');
  await expect(page.locator('.slo-link')).toContainText('TTFT ≤ 3');
});
