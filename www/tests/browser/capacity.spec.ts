// The Plan tab: one screen with the answer, the terminal's numbers, a grid that is ranked, sorted and taken over, what stands in the
// way, and stopping.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { ALONE, control, dropFile, expect, numberBox, open, test } from './page.js';
import type { TokenPrices } from '../../src/capacity/token-prices.js';
import { PROGRAM, SLORA, terminal } from './terminal.js';

// Short runs: what is tested is that two programs find the same.
const GOAL = '&cpt=6&cpp=2&cpn=5000';
const GRID = 'fleet.replicas=1,2|scheduler.kind=vllm_v1,orca';
// Links of version 1 have 2 requests/s.
const SETTINGS = ['--set', 'workload.rate_rps=2', '--set', 'capacity.ttft_s=6', '--set', 'capacity.usd_per_gpu_hour=2', '--set', 'capacity.most_requests=5000'];

interface Ranked { place: number; values: string[]; capacity: { rate_rps: number | null } | null; need: { replicas: number } | null }

function ranking(...options: string[]): Ranked[] {
  const text = execFileSync(PROGRAM, ['capacity', SLORA, ...SETTINGS, ...options, '--json'], { encoding: 'utf8' });
  return (JSON.parse(text) as { ranking: Ranked[] }).ranking;
}

async function searched(page: Page, state = 'ready'): Promise<void> {
  await expect(page.locator('capacity-page')).toHaveAttribute('data-state', state, { timeout: 20_000 });
}

async function rate(page: Page): Promise<number> {
  return Number(await page.locator('[data-metric="capacity.rate_rps"]').getAttribute('data-value'));
}

test('the tab answers on one screen, without a choice of GPUs', async ({ page }) => {
  await open(page, '#tab=plan');
  await searched(page);
  const answer = page.locator('p[data-plan=answer]');
  for (const part of ['[data-plan=load]', '[data-plan=model]', '[data-plan=hardware]', '[data-plan=slo]', 'p[data-plan=answer]', '[data-plan-number=slo]', '[data-plan-number=headroom]', '[data-plan-number=error]', '[data-plan-number=limit]', 'table.ranking tr[data-rank="1"]']) {
    await expect(page.locator(part)).toBeInViewport({ ratio: 1 });
  }
  expect(await page.evaluate(() => scrollY)).toBe(0);
  await expect(answer).toHaveText(/^Cheapest that meets the SLO: \d+ replicas on NVIDIA .+, tensor parallel 1 serve your 6.6 req\/s on average for [\d.]+ USD an hour, [\d.]+ USD per million tokens\.$/u);
  await expect(page.locator('[data-plan-number=slo]')).toHaveAttribute('data-value', 'holds');
  await expect(page.locator('[data-plan-number=error]')).not.toHaveAttribute('data-value', '');
  // Every GPU of the comparison has a price and measured kernels.
  const rows = page.locator('table.ranking tr[data-configuration]');
  expect(await rows.count()).toBeGreaterThan(3);
  await expect(page.locator('table.ranking tr[data-rank=""]')).toHaveCount(0);
  await expect(page.locator('table.ranking thead th')).toHaveCount(7);
  // Little headroom is marked.
  for (const row of await rows.all()) {
    const headroom = Number.parseFloat((await row.locator('td').nth(5).innerText()).replace(/[^\d.]/gu, ''));
    expect(await row.locator('.tight').count()).toBe(headroom < 15 ? 1 : 0);
  }
  // The address has no choice of its own; a tick makes one, which is kept.
  expect(page.url()).not.toContain('cpg');
  const before = await rows.count();
  await page.locator('details[data-fold=hardware-choice] > summary').click();
  await page.locator('[data-option=b200_sxm]').uncheck();
  await expect(rows).toHaveCount(before - 1);
  await searched(page);
  await expect(page.locator('[data-plan=hardware]')).not.toContainText('B200');
  await page.reload();
  await searched(page);
  await expect(rows).toHaveCount(before - 1);
  await page.locator('details[data-fold=hardware-choice] > summary').click();
  await page.locator('[data-action=suggest]').click();
  await expect(rows).toHaveCount(before);
});

test('the comparison that begins by itself is that of the terminal’s grid', async ({ page }) => {
  test.skip(terminal() === null, 'the terminal is not built');
  await open(page, '#tab=plan');
  await searched(page);
  const said = await page.locator('ranking-table code').innerText();
  const [, grid = ''] = /capacity\.grid='([^']*)'/u.exec(said) ?? [];
  const ranked = (JSON.parse(execFileSync(PROGRAM, ['capacity', '--set', `capacity.grid=${grid}`, '--json'], { encoding: 'utf8' })) as { ranking: Ranked[] }).ranking;
  const places = await page.locator('table.ranking tr[data-configuration]').evaluateAll((all) => all.map((row) => Number((row as HTMLElement).dataset['configuration'])));
  expect(places).toEqual(ranked.map(({ place }) => place));
  await expect(page.locator('p[data-plan=answer]')).toHaveAttribute('data-replicas', String(ranked[0]?.need?.replicas));
});

test('published token prices are drawn and listed, and a deployment opens with the reader’s own traffic', async ({ page }) => {
  const file = JSON.parse(readFileSync(new URL('../../../static/published/token-prices.json', import.meta.url), 'utf8')) as TokenPrices;
  await open(page, '#tab=plan&R=9&slot=2');
  const section = page.locator('token-prices-section');
  await expect(section).toHaveAttribute('data-state', 'ready');
  // The caption has the SLO, the traffic and the origin of every price.
  await expect(section).toContainText('TTFT ≤ 1');
  for (const { name, price } of file.gpus) {
    await expect(section.locator('[data-prices=listed]')).toContainText(`${name} `);
    await expect(section.locator('[data-prices=listed]')).toContainText(`(${price?.source ?? ''}, ${price?.date ?? 'no date given'})`);
  }
  for (const [model, { name }] of file.models.entries()) {
    const chart = section.locator(`[data-chart=token_prices_${String(model)}]`);
    await expect(chart.locator('h3')).toContainText(name);
    await chart.scrollIntoViewIfNeeded();
    await expect(chart.locator('canvas')).toBeVisible();
  }
  await section.locator('[data-fold=token-prices] > summary').click();
  const rows = section.locator('table.token-prices tbody tr');
  await expect(rows).toHaveCount(file.deployments.length);
  // A point by key, and a row: the traffic and the SLO are the reader's own.
  await section.locator('[data-chart=token_prices_0] .plot').focus();
  await page.keyboard.press('End');
  await expect(section.locator('[data-chart=token_prices_0] .read-out')).toContainText('USD per million tokens');
  await page.keyboard.press('Enter');
  const ends = file.deployments.filter(({ model }) => model === 0).map((deployment) => ({ ...deployment, right: deployment.ttft_s }));
  const last = ends.sort((one, other) => other.right - one.right)[0];
  await expect(page.locator('[data-plan=hardware]')).toContainText(file.gpus[last?.gpu ?? -1]?.name ?? 'none');
  await expect(control(page, 'workload.rate_rps').locator('input.value')).toHaveValue('9');
  await expect(page.locator('[data-plan="slo.ttft_s"] input')).toHaveValue('2');
  await searched(page);
  await expect(page.locator('table.ranking tr[data-configuration]')).toHaveCount(1);
  await page.goBack();
  await expect(page.locator('[data-plan="fleet.model"] select')).toHaveValue('qwen3-8b');
  const open70 = rows.filter({ hasText: 'Llama-3.1-70B' }).filter({ hasText: '4 × NVIDIA H100' });
  await open70.locator('[data-action=explore]').click();
  await expect(control(page, 'fleet.model').locator('select')).toHaveValue('llama-3.1-70b');
  await expect(page.locator('[data-tab=explore]')).toHaveAttribute('aria-current', 'page');
});

test('one configuration has the terminal’s capacity, and follows a slider', async ({ page }) => {
  test.skip(terminal() === null, 'the terminal is not built');
  await open(page, `#v=1&tab=capacity${GOAL}`);
  await searched(page);
  expect(await rate(page)).toBe(ranking()[0]?.capacity?.rate_rps);
  await expect(page.locator('.capacity-answer')).toHaveAttribute('data-limit', 'bound');
  await expect(page.locator('.capacity-answer')).not.toBeEmpty();
  await expect(page.locator('[data-chart=capacity_curve] canvas')).toBeVisible();
  await page.locator('details[data-fold=own-bounds] > summary').click();
  await numberBox(page, 'capacity.ttft_s').fill('0.5');
  await numberBox(page, 'capacity.ttft_s').press('Enter');
  const strict = ranking('--set', 'capacity.ttft_s=0.5')[0]?.capacity?.rate_rps;
  await expect.poll(() => rate(page)).toBe(strict);
});

test('a grid is ranked as in the terminal, sorts, and is taken over', async ({ page }) => {
  test.skip(terminal() === null, 'the terminal is not built');
  await open(page, `#v=1&tab=capacity${GOAL}&cpg=${encodeURIComponent(GRID)}`);
  await searched(page);
  const rows = page.locator('table.ranking tbody tr');
  const wanted = ranking('--set', `capacity.grid=${GRID}`);
  await expect(rows).toHaveCount(wanted.length);
  const places = await rows.evaluateAll((all) => all.map((row) => Number((row as HTMLElement).dataset['configuration'])));
  expect(places).toEqual(wanted.map(({ place }) => place));
  expect(await rate(page)).toBe(wanted[0]?.capacity?.rate_rps);
  await expect(page.locator('p[data-plan=answer]')).toHaveAttribute('data-replicas', String(wanted[0]?.need?.replicas));
  await page.locator('ranking-table [data-sort]').selectOption('tbt_s');
  await expect(rows.first()).toContainText('Orca');
  await page.locator('ranking-table [data-action=turn-order]').click();
  await expect(rows.first()).not.toContainText('Orca');
  await page.locator('ranking-table [data-action=turn-order]').click();
  await rows.first().locator('[data-action=details]').click();
  await expect(page.locator('.ranking-details')).toHaveCount(1);
  // The ranking stays, and the confirmation is in sight wherever the page is scrolled to.
  await rows.first().locator('.use').click();
  await expect(page.locator('[data-notice=configuration_used]')).toBeInViewport();
  await expect(page.locator('capacity-page')).toHaveAttribute('data-state', 'ready');
  await expect(page.locator('table.ranking tr[data-configuration]')).toHaveCount(wanted.length);
  expect(await page.locator('table.ranking').evaluate((table) => table.scrollWidth <= (table.parentElement?.clientWidth ?? 0))).toBe(true);
  await page.locator('[data-tab=explore]').click();
  await expect(control(page, 'scheduler.kind').locator('select')).toHaveValue('orca');
});

test('after a configuration was used, Back leads to the ranking with the grid as it was', async ({ page }) => {
  await open(page, `#v=1&tab=capacity${GOAL}&cpg=${encodeURIComponent(GRID)}`);
  await searched(page);
  const rows = page.locator('table.ranking tr[data-configuration]');
  const all = await rows.count();
  const before = await control(page, 'scheduler.kind').locator('select').inputValue();
  await rows.filter({ hasText: 'Orca' }).first().locator('.use').click();
  await expect(control(page, 'scheduler.kind').locator('select')).toHaveValue('orca');
  await page.goBack();
  await expect(control(page, 'scheduler.kind').locator('select')).toHaveValue(before);
  await expect(page.locator('capacity-page')).toHaveAttribute('data-state', 'ready');
  await expect(rows).toHaveCount(all);
  await rows.first().locator('a.explore').click();
  await page.goBack();
  await expect(page.locator('capacity-page')).toHaveAttribute('data-state', 'ready');
  await expect(rows).toHaveCount(all);
  await expect(page.locator('[data-axis="fleet.replicas"] input')).toHaveValue('1,2');
});

test('axes are added, changed and removed; a wrong one is stated', async ({ page }) => {
  await open(page, '#v=1&tab=capacity&sched=vllm_v1');
  await searched(page);
  await page.locator('[data-fold=hardware-choice] > summary').click();
  await page.locator('[data-fold=grid] > summary').click();
  await page.locator('.add-axis').selectOption('fleet.replicas');
  await expect(page.locator('table.ranking tbody tr')).toHaveCount(3);
  await page.locator('[data-axis="fleet.replicas"] input').fill('1,0');
  await page.locator('[data-axis="fleet.replicas"] input').press('Enter');
  await searched(page, 'failed');
  await expect(page.locator('capacity-page .notice.error')).toHaveAttribute('data-code', 'out_of_range');
  await page.locator('[data-axis="fleet.replicas"] button').click();
  await searched(page);
  await expect(page.locator('table.ranking tbody tr')).toHaveCount(1);
});

test('the CSV is the terminal’s byte for byte, and a row opens the run of its check', async ({ page }) => {
  test.skip(terminal() === null, 'the terminal is not built');
  await open(page, `#v=1&tab=capacity${GOAL}&cpg=${encodeURIComponent(GRID)}`);
  await searched(page);
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('ranking-table button', { hasText: 'Table as CSV' }).click()]);
  const file = join(mkdtempSync(join(tmpdir(), 'plan-')), 'terminal.csv');
  execFileSync(PROGRAM, ['capacity', SLORA, ...SETTINGS, '--set', `capacity.grid=${GRID}`, '--csv', file], { stdio: 'ignore' });
  expect(readFileSync(await download.path(), 'utf8')).toBe(readFileSync(file, 'utf8'));
  const first = page.locator('table.ranking tbody tr').first();
  await expect(first.locator('[data-check]')).toHaveAttribute('data-check', 'holds');
  const digest = await first.locator('[data-check]').getAttribute('data-digest');
  await first.locator('a.explore').click();
  await expect(page.locator('html')).toHaveAttribute('data-digest', digest ?? 'none', { timeout: 20_000 });
});

test('what has no rate is stated, and a long search stops', ALONE, async ({ page }) => {
  await open(page, '#v=1&tab=capacity&loop=closed');
  await expect(page.locator('.capacity-answer[data-code=no_rate]')).not.toBeEmpty();
  await open(page, '#v=1&tab=capacity&sched=vllm_v1&D=20000&R=5&cpl=0.001');
  await page.locator('capacity-page [data-action=stop]').click();
  await searched(page, 'stopped');
  await expect(page.locator('capacity-page [data-action=again]')).toBeVisible();
  // What was not searched is not said to fail.
  await expect(page.locator('p[data-plan=answer]')).toHaveText('The search was stopped before a deployment was found.');
});

test('a file is played faster', async ({ page }) => {
  await open(page, '#v=1&tab=capacity');
  await searched(page);
  const generated = await rate(page);
  const rows = Array.from({ length: 300 }, (_, id) => `${String(id)},300,100`);
  await dropFile(page, 'mine.csv', Buffer.from(`arrival_s,input_tokens,output_tokens\n${rows.join('\n')}\n`));
  await expect(page.locator('.trace-in-use')).toHaveAttribute('data-requests', '300');
  await expect.poll(() => rate(page), { timeout: 10_000 }).not.toBe(generated);
  await searched(page);
});
