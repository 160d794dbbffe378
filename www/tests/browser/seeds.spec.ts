// Ranges of the headline numbers over further seeds: when they come, when they do not, and that they are the terminal's.
import { execFileSync } from 'node:child_process';
import type { Page } from '@playwright/test';
import { atRest, control, expect, numberBox, open, openGroups, settled, test } from './page.js';
import { PROGRAM, SLORA, terminal } from './terminal.js';

// The page leaves out the seeds that are not done after a while; here time stands still for it, so that no machine is too slow.
test.beforeEach(({ page }) => page.addInitScript(() => { performance.now = () => 0; }));

const HEADLINE = 'headline-numbers';
/** The list that says how the ranges stand. */
const STATE = '.headline.first';
const NUMBERS = ['throughput_rps', 'ttft_s.p50', 'ttft_s.p99', 'tbt_s.p99', 'e2e_s.p50', 'slo.attainment_all', 'requests.rejected_total', 'output_tokens_per_s', 'kv.peak_usage'];

async function reach(page: Page, state: string): Promise<void> {
  await expect(page.locator(STATE)).toHaveAttribute('data-seeds', state, { timeout: 20_000 });
}

/** Presses the button of the choice, which stands with the numbers that are one click away. */
async function choose(page: Page): Promise<void> {
  if (await page.locator('.headline-rest[open]').count() === 0) await page.locator('.headline-rest > summary').click();
  await page.locator('[data-action=ranges]').click();
}

/** What `data-seeds` becomes from now on. */
async function watchSeeds(page: Page): Promise<() => Promise<string[]>> {
  await page.evaluate((selector) => {
    const seen: string[] = [];
    Object.assign(window, { seenSeeds: seen });
    const headline = document.querySelector<HTMLElement>(selector);
    if (headline === null) throw new Error('no headline');
    new MutationObserver(() => { seen.push(headline.dataset['seeds'] ?? ''); }).observe(headline, { attributes: true, attributeFilter: ['data-seeds'] });
  }, STATE);
  return () => page.evaluate(() => (window as unknown as { seenSeeds: string[] }).seenSeeds);
}

test('after the answer every headline number gets its range, and it is the terminal’s', async ({ page }) => {
  test.skip(terminal() === null, 'the terminal is not built');
  await open(page, '#v=2&R=1.5');
  const digest = await page.locator('html').getAttribute('data-digest');
  await reach(page, 'done');
  await expect(page.locator('.seeds')).toContainText(/lowest to highest of [2-8] seeds/u);
  const count = Number(/of (\d+) seeds/u.exec(await page.locator('.seeds').textContent() ?? '')?.[1]);
  const printed = JSON.parse(execFileSync(PROGRAM, ['simulate', SLORA, '--set', 'workload.rate_rps=1.5', '--seeds', String(count), '--json'], { encoding: 'utf8' })) as { digest: string; ranges: Record<string, { low: number; high: number }> };
  expect(printed.digest).toBe(digest);
  expect(Object.keys(printed.ranges).sort()).toEqual([...NUMBERS].sort());
  for (const name of NUMBERS) {
    const number = page.locator(`${HEADLINE} [data-metric="${name}"]`);
    const [low, high] = [Number(await number.getAttribute('data-low')), Number(await number.getAttribute('data-high'))];
    expect([name, low, high]).toEqual([name, printed.ranges[name]?.low, printed.ranges[name]?.high]);
    await expect(number.locator('.metric-range')).toHaveText(low === high ? /every seed/u : /\d.* to .*\d/u);
  }
  // What is shown is still the run of the settings.
  await expect(page.locator('html')).toHaveAttribute('data-digest', printed.digest);
  await expect(page.locator('html')).toHaveAttribute('data-state', 'ready');
});

test('none run while a slider moves, and the ranges go with the answer that they are of', async ({ page }) => {
  await open(page, '#v=2&R=1.5');
  await reach(page, 'done');
  const seen = await watchSeeds(page);
  // In the page itself: between two commands from outside there may be time enough for a seed.
  await control(page, 'workload.rate_rps').locator('input[type="range"]').evaluate(async (range: HTMLInputElement) => {
    const [from, min, max] = [Date.now(), Number(range.min), Number(range.max)];
    while (Date.now() - from < 2000) {
      range.value = String(min + (0.4 + 0.1 * Math.sin((Date.now() - from) / 200)) * (max - min));
      range.dispatchEvent(new Event('input', { bubbles: true }));
      await new Promise(requestAnimationFrame);
    }
  });
  expect(await seen()).not.toContain('running');
  expect(await seen()).toContain('waiting');
  await expect(page.locator(`${HEADLINE} [data-low]`)).toHaveCount(0);
  await settled(page);
  await reach(page, 'done');
});

test('they are off by choice, and stay off', async ({ page }) => {
  await open(page, '#v=2&R=1.5');
  await reach(page, 'done');
  await choose(page);
  await reach(page, 'off');
  await expect(page.locator(`${HEADLINE} [data-low]`)).toHaveCount(0);
  await open(page, '#v=2&R=1.6');
  await reach(page, 'off');
  const seen = await watchSeeds(page);
  await atRest(page);
  expect(await seen()).toEqual([]);
  await choose(page);
  await reach(page, 'done');
});

test('a browser that saves data runs none until it is asked to', async ({ page }) => {
  await page.addInitScript(() => { Object.defineProperty(navigator, 'connection', { value: { saveData: true } }); });
  await open(page, '#v=2&R=1.5');
  await reach(page, 'off');
  await choose(page);
  await reach(page, 'done');
});

test('a change is coloured when it is clear over the seeds, and not before', async ({ page }) => {
  await open(page, '#v=2&R=1.5');
  await reach(page, 'done');
  const change = page.locator(`${HEADLINE} [data-metric="tbt_s.p99"] .change`);
  await openGroups(page);
  await numberBox(page, 'cost.linear.decode_base_ms').fill('60');
  await numberBox(page, 'cost.linear.decode_base_ms').press('Enter');
  await expect(change).toContainText('▲');
  await expect(change).not.toHaveClass(/better|worse/u);
  await reach(page, 'done');
  await expect(change).toHaveClass(/worse/u);
});

test('a change that is the seed’s has no colour', async ({ page }) => {
  await open(page, '#v=2&R=1.5');
  await reach(page, 'done');
  await openGroups(page);
  await numberBox(page, 'seed').fill('43');
  await numberBox(page, 'seed').press('Enter');
  await expect(page.locator(`${HEADLINE} [data-metric="ttft_s.p99"] .change`)).toContainText(/[▲▼]/u);
  await reach(page, 'done');
  await expect(page.locator(`${HEADLINE} .change:is(.better, .worse)`)).toHaveCount(0);
});

test('time and distribution charts get a band, which goes with the answer and follows the zoom', async ({ page }) => {
  await open(page, '#v=2&R=1.5');
  await reach(page, 'done');
  const bands = page.locator('chart-view .legend .band:not([hidden])');
  for (const chart of ['running_waiting', 'memory', 'tokens', 'latency_cdf']) {
    await expect(page.locator(`[data-chart=${chart}] .legend .band`)).toBeVisible();
  }
  await expect(bands).toHaveCount(4);
  // The axis is as high as the band, so that nothing of it is cut.
  const drawn = await page.locator('[data-chart=running_waiting]').evaluate((view) => {
    const { frame, band, chart } = view as unknown as { frame: { y_max: number }; band: { y: { max: number }; series: { y0: number[]; y: number[] }[] }; chart: { y: { max: number } } };
    const wide = band.series.some(({ y0, y }) => y.some((high, place) => high > (y0[place] ?? Infinity)));
    return { top: frame.y_max, band: band.y.max, own: chart.y.max, wide };
  });
  expect(drawn.wide).toBe(true);
  expect(drawn.top).toBe(drawn.band);
  expect(drawn.top).toBeGreaterThanOrEqual(drawn.own);
  // A zoom has other axes: the ranges stay, the bands come again.
  const plot = page.locator('[data-chart=running_waiting] .plot');
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  if (box === null) throw new Error('no plot');
  await page.mouse.move(box.x + box.width * 0.3, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + box.height / 2, { steps: 5 });
  await page.mouse.up();
  await expect(page.locator('[data-chart=running_waiting] .legend .band')).toBeHidden();
  await expect(page.locator(STATE)).toHaveAttribute('data-seeds', 'done');
  await expect(page.locator('[data-chart=running_waiting] .legend .band')).toBeVisible({ timeout: 20_000 });
  await choose(page);
  await expect(bands).toHaveCount(0);
});
