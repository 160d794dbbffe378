// The monitor: who uses what, by user and by adapter, as charts, as a table that sorts, and as files.
import { readFile } from 'node:fs/promises';
import type { Locator, Page } from '@playwright/test';
import { brush, digest, drawn, expect, metric, ONLY_WHOLE, open, saved, setNumber, settled, test, violations } from './page.js';
import { SLORA, terminal } from './terminal.js';

/** S-LoRA's loop, first come, first served. */
const PLAIN = '#v=1&R=4&D=120&u=30';
const FAIR = '#v=1&R=6&D=120&u=30&order=vtc';
const GATED = '#v=1&R=5&D=60&u=5&gk=proxy&gch=kv&gor=vtc';
const FLEET = '#v=1&R=6&D=60&u=5&sched=vllm_v1&rep=2&pool=3000';

async function openMonitor(page: Page, hash: string): Promise<Locator> {
  await open(page, hash);
  const before = await digest(page);
  const details = page.locator('details.monitor');
  await details.locator('> summary').click();
  const section = page.locator('monitor-section');
  await expect(section).toHaveAttribute('data-state', 'ready', { timeout: 20_000 });
  await settled(page);
  expect(await digest(page)).toBe(before);
  return section;
}

/** The numbers of a column as they stand. */
async function column(section: Locator, name: string): Promise<number[]> {
  const names = await section.locator('thead th').evaluateAll((heads) => heads.map((head) => (head as HTMLElement).dataset['column']));
  const cells = await section.locator(`tbody tr > :nth-child(${String(names.indexOf(name) + 1)})`).allTextContents();
  return cells.map((cell) => Number(cell.replaceAll(/[^\d.]/g, '')));
}

function rising(values: readonly number[]): boolean {
  return values.every((value, index) => index === 0 || value >= (values[index - 1] ?? 0));
}

test('opening it fetches what it needs; it says who has which colour', async ({ page }) => {
  const section = await openMonitor(page, PLAIN);
  for (const name of ['client_service', 'client_kv']) {
    await drawn(page, name);
    const legend = await page.locator(`[data-chart="${name}"] .legend li:not(.ghost)`).allTextContents();
    expect(legend.filter((entry) => /^user \d+$/.test(entry.trim()))).toHaveLength(7);
    expect(legend.map((entry) => entry.trim())).toContain('all others');
  }
  await expect(page.locator('[data-chart="client_counters"] .empty')).toHaveAttribute('data-empty', 'empty.no_counters');
  expect(await metric(page, 'monitor.jain')).toBeGreaterThan(0);
  expect(await metric(page, 'monitor.jain')).toBeLessThan(1);
  await expect(section.locator('tbody tr')).toHaveCount(12);
  await section.locator('button.rows').click();
  await expect(section.locator('tbody tr')).toHaveCount(30);
});

test('every column sorts, over all clients, with the mouse and with the keyboard', async ({ page }) => {
  const section = await openMonitor(page, FAIR);
  expect(rising((await column(section, 'service')).reverse())).toBe(true);
  await expect(section.locator('th[data-column="service"]')).toHaveAttribute('aria-sort', 'descending');
  const offered = section.locator('th[data-column="offered"]');
  await offered.locator('button').click();
  await expect(offered).toHaveAttribute('aria-sort', 'descending');
  await expect.poll(async () => rising((await column(section, 'offered')).reverse())).toBe(true);
  await offered.locator('button').press('Enter');
  await expect(offered).toHaveAttribute('aria-sort', 'ascending');
  // Sorted over all thirty, of which twelve are shown: the least is not among the best served.
  await expect.poll(async () => rising(await column(section, 'offered'))).toBe(true);
  await expect(section.locator('th[data-column="service"]')).toHaveAttribute('aria-sort', 'none');
  const id = section.locator('th[data-column="id"]');
  await id.locator('button').click();
  await expect.poll(async () => column(section, 'id')).toEqual(Array.from({ length: 12 }, (_, index) => index));
  await drawn(page, 'client_counters');
  await section.locator('th[data-column="counter"] button').click();
  await expect.poll(async () => rising((await column(section, 'counter')).reverse())).toBe(true);
});

test('what a gateway reserves and counts for each client is drawn and sorts', async ({ page }) => {
  const section = await openMonitor(page, GATED);
  for (const name of ['client_reserved', 'client_gateway_counters']) await drawn(page, name);
  await expect(page.locator('[data-chart="client_counters"]')).toHaveCount(0);
  for (const name of ['reserved_tokens_mean', 'gateway_counter']) {
    await section.locator(`th[data-column="${name}"] button`).click();
    await expect.poll(async () => rising((await column(section, name)).reverse())).toBe(true);
    expect((await column(section, name)).every((value) => value > 0)).toBe(true);
  }
});

test('users or adapters', async ({ page }) => {
  const section = await openMonitor(page, FAIR);
  await section.locator('.who-choice [data-client=adapter]').click();
  await expect(section.locator('caption')).toContainText('adapters');
  await expect(section.locator('tbody th').first()).toContainText('adapter');
  await expect(page.locator('[data-chart="client_counters"] .empty')).toHaveAttribute('data-empty', 'empty.counters_by_user');
  await expect(page.locator('[data-chart="client_kv"] .legend li').first()).toContainText('adapter');
  await section.locator('.who-choice [data-client=user]').click();
  await expect(section.locator('tbody th').first()).toContainText('user');
});

test('it follows a control while it is open, and a fleet', async ({ page }) => {
  const section = await openMonitor(page, FLEET);
  const offered = async (): Promise<number> => (await column(section, 'offered')).reduce((sum, value) => sum + value, 0);
  expect(await offered()).toBe(360);
  expect(await metric(page, 'monitor.wasted_tokens')).toBeGreaterThan(0);
  await setNumber(page, 'workload.rate_rps', 3);
  await expect.poll(offered).toBe(180);
});

test('its charts follow the zoom', async ({ page }) => {
  const section = await openMonitor(page, FAIR);
  const chart = section.locator('chart-view').first();
  const seconds = (): Promise<number> => chart.evaluate((view) => {
    const { x } = (view as HTMLElement & { chart: { x: { min: number; max: number } } }).chart;
    return x.max - x.min;
  });
  const whole = await seconds();
  await brush(page, chart.locator('.plot'));
  await expect.poll(seconds).toBeLessThan(whole / 2);
  await chart.locator('.plot').dblclick();
  await expect.poll(seconds).toBe(whole);
});

test('the files are those of the terminal', async ({ page }, info) => {
  const run = terminal();
  test.skip(run === null, 'the terminal is not built');
  const section = await openMonitor(page, FAIR);
  const out = info.outputPath('out');
  const settings = ['workload.rate_rps=6', 'workload.duration_s=120', 'workload.users.count=30', 'scheduler.order=vtc'];
  run?.('simulate', SLORA, '--json', ...settings.flatMap((setting) => ['--set', setting]), '--out', out);
  for (const name of ['clients.csv', 'clients_over_time.csv']) {
    const { bytes: saying } = await saved(page, () => section.locator(`[data-file="${name}"]`).click());
    const bytes = saying.toString();
    expect(bytes === await readFile(`${out}/${name}`, 'utf8'), name).toBe(true);
    expect(bytes.split('\n').length).toBeGreaterThan(30);
  }
});

for (const [colorScheme, rules] of [['light', 'all'], ['dark', 'colours']] as const) {
  test(`axe finds nothing in the monitor, ${colorScheme}`, colorScheme === 'dark' ? ONLY_WHOLE : {}, async ({ page }) => {
    await page.emulateMedia({ colorScheme });
    await openMonitor(page, FAIR);
    expect(await violations(page, { within: 'details.monitor', rules, least: 'minor' })).toEqual([]);
  });
}
