// Results belong to settings: what is shown is of the settings in the controls, or the page says of which.
import type { Page } from '@playwright/test';
import { ALONE, control, digest, dropFile, expect, exported, goTo, metric, numberBox, open, openGroups, setNumber, shared, SMALL, test, violations } from './page.js';

/** Three GPUs cannot share 32 heads. */
const CANNOT = '#v=1&n=0&D=30&sched=vllm_v1&cost=roofline&tp=3';
const CAN = CANNOT.replace('&tp=3', '');
const MODEL = 'fleet.model';
const TP = 'fleet.tensor_parallel';
const FILE = '#v=1&file=small.csv';

async function stale(page: Page, why: 'failed' | 'cancelled' | 'file'): Promise<void> {
  await expect(page.locator('html')).toHaveAttribute('data-stale', why);
  await expect(page.locator('stale-bar .stale-why')).toBeInViewport();
}

async function current(page: Page): Promise<void> {
  await expect(page.locator('html')).not.toHaveAttribute('data-stale');
  await expect(page.locator('stale-bar .stale-why')).toBeEmpty();
  await expect(page.locator('html')).toHaveAttribute('data-state', 'ready');
}

async function choose(page: Page, action: string): Promise<void> {
  await page.locator(`stale-bar [data-action=${action}]`).click();
}

/** Presses Escape in the frame that shows the progress of the run that `act` starts: this process may be slower than the run. */
async function cancelled(page: Page, act: () => Promise<void>): Promise<void> {
  const pressed = page.evaluate(() => new Promise<void>((done) => {
    const look = (): void => {
      if (document.querySelector<HTMLElement>('.progress')?.checkVisibility() !== true) {
        requestAnimationFrame(look);
        return;
      }
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
      done();
    };
    look();
  }));
  await act();
  await pressed;
}

/** A run that shows a preview first and would go on for seconds. */
async function cancelLongRun(page: Page): Promise<void> {
  await openGroups(page);
  await setNumber(page, 'workload.rate_rps', 400);
  await cancelled(page, async () => {
    await numberBox(page, 'workload.duration_s').fill('2400');
    await numberBox(page, 'workload.duration_s').press('Enter');
  });
}

/** A model that does not fit on the GPU: a choice is taken over, and its run fails. */
async function tooLarge(page: Page): Promise<void> {
  await control(page, MODEL).locator('select').selectOption('llama-2-70b');
}

test('a run that fails leaves no number that looks current, on any tab and in both languages', async ({ page }) => {
  await open(page, CAN);
  const before = await digest(page);
  await openGroups(page);
  await setNumber(page, 'workload.arrivals.cv', 4);
  await expect(page.locator('.change.better, .change.worse').first()).toBeVisible();
  const shown = await digest(page);
  expect(shown).not.toBe(before);
  await tooLarge(page);
  await stale(page, 'failed');
  await expect(page.locator('html')).toHaveAttribute('data-state', 'failed');
  await expect(page.locator('html')).toHaveAttribute('data-digest', shown);
  await expect(page.locator('stale-bar .stale-why')).toContainText('Llama-2-7B');
  await expect(page.locator('.change:not(:has(i:empty))')).toHaveCount(0);
  await expect(page.locator('.legend .ghost:visible')).toHaveCount(0);
  const greyed = page.locator('.of-run:visible');
  for (const panel of await greyed.all()) await expect(panel).toHaveCSS('filter', 'grayscale(1)');
  expect(await greyed.count()).toBeGreaterThan(1);
  for (const tab of ['learn', 'plan', 'validation', 'explore']) {
    await page.locator(`page-header [data-tab=${tab}]`).click();
    await stale(page, 'failed');
  }
  await page.locator('[data-action=language]').click();
  await expect(page.locator('stale-bar .stale-why')).toContainText('未运行');
  await stale(page, 'failed');
});

test('from a failed run there is a way to its control, back to what is shown, and back by undo', async ({ page }) => {
  await open(page, CAN);
  const before = await digest(page);
  await openGroups(page);
  await tooLarge(page);
  await stale(page, 'failed');
  await page.locator('#group-fleet').evaluate((group: HTMLDetailsElement) => { group.open = false; });
  await choose(page, 'control');
  await expect(control(page, MODEL).locator('select')).toBeFocused();
  await choose(page, 'back');
  await current(page);
  expect(await digest(page)).toBe(before);
  await expect(control(page, MODEL).locator('select')).toHaveValue('llama-2-7b');
  await tooLarge(page);
  await stale(page, 'failed');
  await choose(page, 'undo');
  await current(page);
  expect(await digest(page)).toBe(before);
});

for (const width of [1440, 390]) {
  test(`a link to settings that cannot run says so, also after a reload and in a page that is open, at ${String(width)} px`, async ({ page }) => {
    await page.setViewportSize({ width, height: 900 });
    await open(page, CANNOT);
    await stale(page, 'failed');
    expect(await metric(page, 'throughput_rps')).toBeNaN();
    await page.reload();
    await stale(page, 'failed');
    await expect(page.locator('stale-bar [data-action=back]')).toHaveCount(0);
    await choose(page, 'control');
    await expect(control(page, TP).locator('input').first()).toBeFocused();
    if (width < 860) await page.locator('.sheet-handle').click();
    await choose(page, 'reset');
    await current(page);
    const before = await digest(page);
    await goTo(page, CANNOT);
    await stale(page, 'failed');
    await choose(page, 'back');
    await current(page);
    expect(await digest(page)).toBe(before);
    await expect.poll(() => page.evaluate(() => location.hash)).not.toContain('tp=3');
  });
}

test('after a cancelled run, controls and numbers agree again by choice', ALONE, async ({ page }) => {
  await open(page);
  const before = await digest(page);
  const shown = await metric(page, 'ttft_s.p50');
  await cancelLongRun(page);
  await stale(page, 'cancelled');
  await expect(page.locator('html')).toHaveAttribute('data-state', 'ready');
  await expect(page.locator('.progress')).toBeHidden();
  const rate = await numberBox(page, 'workload.rate_rps').inputValue();
  expect(rate).toBe('400');
  await page.locator('.traffic-source > summary').click();
  await stale(page, 'cancelled');
  await page.locator('.traffic-source > summary').click();
  await cancelled(page, () => choose(page, 'run'));
  await stale(page, 'cancelled');
  await choose(page, 'back');
  await current(page);
  const now = await digest(page);
  // The rate alone ran in full before the long run, where the machine was quick.
  if (now === before) expect(await metric(page, 'ttft_s.p50')).toBe(shown);
});

test('a cancelled run can be run after all', ALONE, async ({ page }) => {
  await open(page);
  const before = await digest(page);
  await cancelLongRun(page);
  await stale(page, 'cancelled');
  await setNumber(page, 'workload.duration_s', 600);
  await current(page);
  await expect.poll(() => digest(page)).not.toBe(before);
});

test('a link to a file that is not there shows no numbers until the file is there', async ({ page }) => {
  await open(page, FILE);
  await stale(page, 'file');
  expect(await metric(page, 'throughput_rps')).toBeNaN();
  await page.reload();
  await stale(page, 'file');
  await expect(page.locator('stale-bar .stale-why')).toContainText('small.csv');
  for (const tab of ['learn', 'plan', 'validation', 'explore']) {
    await page.locator(`page-header [data-tab=${tab}]`).click();
    await stale(page, 'file');
  }
  await dropFile(page, 'small.csv', Buffer.from(SMALL));
  await expect(page.locator('.trace-in-use')).toContainText('small.csv');
  await current(page);
});

test('without the file of a link there is the generated traffic, or what was shown before', async ({ page }) => {
  await open(page);
  const before = await digest(page);
  await goTo(page, FILE);
  await stale(page, 'file');
  await choose(page, 'back');
  await current(page);
  await goTo(page, `${FILE}&R=3`);
  await stale(page, 'file');
  await choose(page, 'without');
  await current(page);
  await expect.poll(() => digest(page)).not.toBe(before);
  await expect.poll(() => page.evaluate(() => location.hash)).not.toContain('file=');
});

test('what is of a trace file goes back to that file', async ({ page }) => {
  await open(page, CAN);
  await dropFile(page, 'small.csv', Buffer.from(SMALL));
  await expect(page.locator('.trace-in-use')).toContainText('small.csv');
  await current(page);
  const before = await digest(page);
  await goTo(page, '#v=1&file=other.csv');
  await stale(page, 'file');
  await choose(page, 'back');
  await current(page);
  expect(await digest(page)).toBe(before);
  await expect(page.locator('.trace-in-use')).toContainText('small.csv');
});

test('nothing of other settings is exported, and what is of the controls says so', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await open(page, CAN);
  await openGroups(page);
  await tooLarge(page);
  await stale(page, 'failed');
  const downloads: string[] = [];
  page.on('download', (download) => downloads.push(download.suggestedFilename()));
  const refusal = page.locator('[data-notice=export_refused]');
  for (const item of ['summary.json', 'requests.csv', 'batches.csv', 'trace.json', 'events.csv', 'perfetto', 'charts']) {
    await shared(page, item);
    await expect(refusal, item).toContainText('Llama-2-70B');
    await refusal.locator('button').click();
  }
  const tools = page.locator('[data-chart=rates] .chart-tools');
  await tools.locator('.menu > button').click();
  await tools.locator('[data-item=csv]').click();
  await expect(refusal).toBeVisible();
  expect(downloads).toEqual([]);
  const scenario = JSON.parse(await exported(page, 'scenario')) as { fleet: { model: string } };
  expect(scenario.fleet.model).toBe('llama-2-70b');
  await expect(page.locator('[data-notice=of_controls]')).toBeVisible();
  await shared(page, 'command');
  await expect(page.locator('[data-notice=command_copied]')).toHaveCount(0);
  await expect(page.locator('[data-notice=of_controls]')).toBeVisible();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toContain('fleet.model=llama-2-70b');
  await choose(page, 'back');
  await current(page);
  const summary = JSON.parse(await exported(page, 'summary.json')) as { digest: string };
  expect(summary.digest).toBe(await digest(page));
});

test('what is of other settings can be read by everybody', async ({ page }) => {
  await open(page, CAN);
  await goTo(page, CANNOT);
  await stale(page, 'failed');
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await violations(page, { rules: colorScheme === 'light' ? 'all' : 'colours' })).toEqual([]);
  }
});

test('a number that cannot be run is in its control alone, which is said', async ({ page }) => {
  await open(page, CAN);
  const before = await digest(page);
  await openGroups(page);
  await setNumber(page, TP, 3);
  await stale(page, 'failed');
  await choose(page, 'back');
  await current(page);
  expect(await digest(page)).toBe(before);
  await expect(numberBox(page, TP)).toHaveValue('1');
});
