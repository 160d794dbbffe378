import type { Page } from '@playwright/test';
import { brush, control, digest, drawn, expect, exported, link, metric, open, openGroups, saved, settled, test, unfold, violations } from './page.js';

const CHARTS = ['gaps', 'shares', 'lengths', 'rates', 'running_waiting', 'seats', 'memory', 'tokens', 'latency_cdf', 'ttft_by_arrival', 'time_split'];
const TIME_CHARTS = ['rates', 'running_waiting', 'seats', 'memory', 'tokens', 'ttft_by_arrival'];
const REPLICA_CHARTS = ['lanes', 'replica_count', 'operators', 'batch', 'utilisation', 'preemptions'];

const plot = (page: Page, name: string) => page.locator(`[data-chart="${name}"] .plot`);

test('every chart is drawn, with title, legend and explanation', async ({ page }) => {
  await open(page);
  for (const name of CHARTS) {
    const chart = page.locator(`[data-chart="${name}"]`);
    await drawn(page, name);
    await expect(chart.locator('h3')).not.toBeEmpty();
    expect(await chart.locator('.legend li').count()).toBeGreaterThan(0);
    await chart.locator('.chart-tools > button').click();
    await expect(chart.locator('.about')).toBeVisible();
  }
});

test('charts and headline follow the slider, and keep the former answer', async ({ page }) => {
  await open(page);
  await expect(page.locator('.legend .ghost').first()).toBeHidden();
  const before = await metric(page, 'throughput_rps');
  const picture = () => page.locator('[data-chart="rates"] canvas').evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL());
  await plot(page, 'rates').scrollIntoViewIfNeeded();
  const drawn = await picture();
  await control(page, 'workload.rate_rps').locator('input[type=range]').focus();
  await page.keyboard.press('PageDown');
  await settled(page);
  expect(await metric(page, 'throughput_rps')).not.toBe(before);
  await expect.poll(picture).not.toBe(drawn);
  await expect(page.locator('.legend .ghost').first()).toBeVisible();
  await expect(page.locator('[data-metric="throughput_rps"] .change i')).toContainText('▼');
});

test('headline numbers are finite and consistent with the summary file', async ({ page }) => {
  await open(page);
  const summary = JSON.parse(await exported(page, 'summary.json')) as { digest: string; throughput_rps: number; ttft_s: { p50: number } };
  expect(summary.digest).toBe(await digest(page));
  expect(await metric(page, 'throughput_rps')).toBe(summary.throughput_rps);
  expect(await metric(page, 'ttft_s.p50')).toBe(summary.ttft_s.p50);
});

test('one cursor over all time charts, with a read-out', async ({ page }) => {
  await page.setViewportSize({ width: 1440, height: 3800 });
  await open(page);
  await plot(page, 'memory').hover({ position: { x: 400, y: 60 } });
  for (const name of TIME_CHARTS) await expect(page.locator(`[data-chart="${name}"] .cursor-line`), name).toBeVisible();
  await expect(page.locator('[data-chart="gaps"] .cursor-line')).toBeHidden();
  const box = page.locator('[data-chart="memory"] .read-out');
  await expect(box).toContainText('KV cache');
  await expect(box).toContainText(/\d\ss/);
  await expect(page.locator('.station[data-station="waiting"]')).toContainText('now');
  await page.mouse.move(10, 10);
  await expect(page.locator('[data-chart="rates"] .cursor-line')).toBeHidden();
});

test('the keyboard moves the cursor and hears the read-out', async ({ page }) => {
  await open(page);
  await plot(page, 'rates').focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Shift+ArrowRight');
  await expect(page.locator('[data-chart="rates"] .cursor-line')).toBeVisible();
  await expect(plot(page, 'rates')).toHaveAttribute('role', 'slider');
  await expect(plot(page, 'rates')).toHaveAttribute('aria-valuetext', /arrived/);
});

test('a brush zooms all time charts; double click gives the whole run back', async ({ page }) => {
  await page.setViewportSize({ width: 1440, height: 3800 });
  await open(page);
  await unfold(page, 'batch');
  const before = await digest(page);
  await brush(page, plot(page, 'rates'));
  const resets = page.locator('.reset-zoom:visible');
  await expect(resets).toHaveCount(TIME_CHARTS.length + REPLICA_CHARTS.length);
  expect(await link(page)).toMatch(/zoom=[\d.]+-[\d.]+/);
  expect(await digest(page)).toBe(before);
  await plot(page, 'tokens').dblclick({ position: { x: 300, y: 60 } });
  await expect(resets).toHaveCount(0);
});

test('a click on a request says why it waited', async ({ page }) => {
  await page.setViewportSize({ width: 1440, height: 2600 });
  await open(page, '#v=1&R=4');
  await plot(page, 'ttft_by_arrival').focus();
  for (let press = 0; press < 4; press += 1) await page.keyboard.press('Shift+ArrowRight');
  await page.keyboard.press('Enter');
  const card = page.locator('.request-card');
  await expect(card).toContainText(/Request \d+/);
  await expect(card.locator('.why')).toHaveAttribute('data-cause', /^\w+$/);
  await expect(card.locator('.why')).toContainText(/\w+ \w+.*\.$/);
  await expect(card.locator('.delays li').first()).toContainText(/\d/);
  await expect(card.locator('.causes dt[data-cause=own_decode]')).toBeVisible();
  await expect(page.locator('[data-chart="ttft_by_arrival"] .picked')).toBeVisible();
});

test('a chart is exported as numbers, and as a figure with its axes, its legend and where it comes from', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await open(page);
  await unfold(page, 'gaps');
  const of = await digest(page);
  const item = async (name: string): Promise<void> => {
    await page.locator('[data-chart="gaps"] .menu > button').click();
    await page.locator(`[data-chart="gaps"] .menu-list [data-item=${name}]`).click();
  };
  const csv = await saved(page, () => item('csv'));
  expect(csv.name).toBe('servescope-gaps.csv');
  expect(csv.bytes.toString()).toMatch(/^series,x/u);
  await item('figure');
  const dialog = page.getByRole('dialog');
  await expect(dialog.locator('.figure-preview > svg')).toHaveAttribute('width', '84mm');
  expect(await violations(page)).toEqual([]);
  const save = (action: string) => saved(page, () => dialog.locator(`[data-action=${action}]`).click());
  const drawing = await save('svg');
  expect(drawing.name).toBe('servescope-gaps.svg');
  const svg = drawing.bytes.toString();
  // A picture that leaves the page says what it is of.
  expect(svg).toContain(`Digest: ${of}`);
  for (const words of ['time between two arrivals, s', 'density, 1/s', 'theoretical density']) expect(svg).toContain(words);
  const picture = await save('png');
  expect(picture.bytes.toString('latin1', 1, 4)).toBe('PNG');
  expect(picture.bytes.toString()).toContain(`Digest: ${of}`);
  // One column at 600 dots an inch.
  expect(picture.bytes.readUInt32BE(16)).toBe(Math.round((84 / 25.4) * 600));
  await dialog.locator('[data-action=caption]').click();
  await expect(dialog.getByRole('status')).toHaveText('Copied.');
  expect(await page.evaluate(() => navigator.clipboard.readText())).toContain(of);
  // A card has one sentence, and its link.
  await dialog.locator('[data-item=kind]').selectOption({ index: 2 });
  await dialog.locator('[data-item=sentence]').fill('Gaps are short & many');
  await expect(dialog.locator('.figure-preview')).toContainText('Gaps are short & many');
  expect((await save('png')).bytes.readUInt32BE(16)).toBe(1200);
  await dialog.locator('[data-action=html]').click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toContain('Gaps are short &amp; many');
  expect(await page.evaluate(() => navigator.clipboard.readText())).toContain('#v=');
  await dialog.locator('[data-action=bibtex]').click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toContain(`@misc{servescope-${of}`);
});

test('all charts are one file with the settings and the digest', async ({ page }) => {
  await open(page, '#v=4&cv=4');
  const file = await exported(page, 'charts');
  expect(file).toContain(`Digest: ${await digest(page)}`);
  expect(file).toContain('Burstiness cv');
  const shown = await page.locator('chart-view:not(.nothing)').evaluateAll((views) => views.map((view) => (view as HTMLElement).dataset['chart']));
  for (const chart of ['gaps', 'running_waiting', 'latency_cdf', 'time_split']) {
    expect(shown).toContain(chart);
    expect(file).toContain(`data-chart="${chart}"`);
  }
  // It stands alone: opened by itself it draws every chart, and asks for nothing.
  const alone = await page.context().newPage();
  const asked: string[] = [];
  alone.on('request', (request) => { asked.push(request.url()); });
  await alone.setContent(file);
  expect(await alone.locator('figure > svg').count()).toBeGreaterThan(6);
  expect(asked).toEqual([]);
  await alone.close();
});

test('the other files can be had', async ({ page }) => {
  await open(page, '#v=1&D=30');
  for (const name of ['scenario', 'requests.csv', 'batches.csv', 'workload', 'trace.json']) {
    expect((await exported(page, name)).length, name).toBeGreaterThan(2);
  }
});

test('the numbers of a chart stand in a table too', async ({ page }) => {
  await open(page);
  await page.locator('[data-chart="rates"] .menu > button').click();
  await page.locator('[data-chart="rates"] .menu-list button').first().click();
  expect(await page.locator('[data-chart="rates"] .table-view tbody tr').count()).toBeGreaterThan(20);
});

test('a chart without data says why', async ({ page }) => {
  await open(page, '#v=1&n=0');
  await expect(page.locator('[data-chart="shares"] .empty')).toHaveAttribute('data-empty', 'empty.base_model_only');
});

test('a redraw inserts no span', async ({ page }) => {
  await page.setViewportSize({ width: 1440, height: 2600 });
  await open(page);
  const range = control(page, 'workload.rate_rps').locator('input[type=range]');
  await range.focus();
  await page.keyboard.press('ArrowRight');
  await settled(page);
  await page.evaluate(() => {
    document.body.dataset['spans'] = '0';
    new MutationObserver((changes) => {
      const added = changes.flatMap((change) => [...change.addedNodes]).filter((node) => node.nodeName === 'SPAN');
      document.body.dataset['spans'] = String(Number(document.body.dataset['spans']) + added.length);
    }).observe(document, { childList: true, subtree: true });
  });
  for (let press = 0; press < 10; press += 1) {
    await page.keyboard.press('ArrowRight');
    await settled(page);
  }
  expect(await page.locator('body').getAttribute('data-spans')).toBe('0');
});

test('the table of who can be sorted and turned to users', async ({ page }) => {
  await open(page);
  const rows = page.locator('table.who tbody tr');
  await expect(rows).toHaveCount(10);
  await page.locator('table.who [data-column=ttft] .sort').click();
  await expect(page.locator('table.who th[aria-sort="descending"]')).toHaveAttribute('data-column', 'ttft');
  await page.getByRole('button', { name: 'Users', exact: true }).click();
  await expect(page.locator('table.who thead th').first()).toContainText('User');
});

for (const reducedMotion of ['reduce', 'no-preference'] as const) {
  test(`a station marks its controls and charts, and brings them into sight (motion: ${reducedMotion})`, async ({ page }) => {
    await page.emulateMedia({ reducedMotion });
    await open(page);
    await page.locator('.station[data-station="gpu"]').click();
    await expect(page.locator('[data-chart="memory"]')).toHaveClass(/marked/);
    await expect(page.locator('#group-memory')).toHaveAttribute('open', '');
    await expect(page.locator('#group-memory > summary')).toBeInViewport();
    await expect(page.locator('[data-chart="memory"]')).toBeInViewport();
    await openGroups(page);
  });
}

