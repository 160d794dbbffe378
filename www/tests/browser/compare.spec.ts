// A pinned run against the one in the controls: the terminal's numbers, the same from a link, and what can be done with pins.
import { execFileSync } from 'node:child_process';
import type { Page } from '@playwright/test';
import { control, drawn, expect, link, ONLY_WHOLE, open, openGroups, setNumber, test, violations } from './page.js';
import { PROGRAM, SLORA, terminal } from './terminal.js';

interface Row { a: number; b: number; difference: number; low: number; high: number }
interface FoundCrossover { value: number; low: number; high: number; below: string; above: string }
interface Told { metrics: Record<string, Row>; first_difference: { time_s: number; a: { request: number } }; crossover: { crossovers: FoundCrossover[] } }

const ORDER = 'scheduler.order';

function printed(...options: string[]): Told {
  return JSON.parse(execFileSync(PROGRAM, ['compare', ...options, '--json'], { encoding: 'utf8', maxBuffer: 1 << 26 })) as Told;
}

async function compared(page: Page, seeds: number): Promise<void> {
  const section = page.locator('[data-compare]');
  await expect(section).toHaveAttribute('data-compare', 'ready', { timeout: 40_000 });
  await expect(section).toHaveAttribute('data-seeds', String(seeds));
}

/** A run that was equal to the pinned one is compared anew, and differs. */
async function changed(page: Page): Promise<void> {
  await expect(page.locator('[data-compare=ready] [data-metric="ttft_s.mean"]')).not.toHaveAttribute('data-difference', '0', { timeout: 40_000 });
  await compared(page, 10);
}

async function row(page: Page, metric: string): Promise<Row> {
  const cells = page.locator(`[data-compare] [data-metric="${metric}"]`);
  const of = async (key: string): Promise<number> => Number(await cells.getAttribute(`data-${key}`));
  return { a: await of('a'), b: await of('b'), difference: await of('difference'), low: await of('low'), high: await of('high') };
}

async function pin(page: Page): Promise<void> {
  const fold = page.locator('details.fold.compare');
  await fold.locator('> summary').click();
  await page.locator('[data-action=pin]').click();
  await page.locator('[data-action=seeds]').selectOption('10');
  await compared(page, 10);
}

/** The README's example: of four users one sends three in four of the requests. */
test('each of a few users is a row of the comparison, with the terminal’s numbers', async ({ page }) => {
  test.skip(terminal() === null, 'the terminal is not built');
  const setting = 'v=2&R=4&D=200&n=0&in=fixed&out=fixed&u=4&up=list&ush=9,1,1,1&gk=proxy&gc=32&gor=fcfs';
  await open(page, `#${setting}`);
  await openGroups(page);
  await pin(page);
  await control(page, 'gateway.order').locator('select').selectOption('vtc');
  await changed(page);
  const expected = printed(`#${setting}`, '--set-b', 'gateway.order=vtc', '--seeds', '10');
  for (const user of ['0', '1', '2', '3']) {
    const path = `per_user.${user}.ttft_mean_s`;
    const { a, b, difference, low, high } = expected.metrics[path] ?? {} as Row;
    expect(await row(page, path)).toEqual({ a, b, difference, low, high });
    await expect(page.locator(`[data-compare] [data-metric="${path}"] th`)).toContainText(`ean TTFT of user ${user}`);
  }
  expect((await row(page, 'per_user.1.ttft_mean_s')).difference).toBeLessThan(-50);
  await expect(page.locator('[data-compare] [data-metric=output_tokens_per_s] td').first()).toContainText('tokens/s');
});

test('a comparison has the terminal’s numbers, and a link has them again', async ({ page }) => {
  test.skip(terminal() === null, 'the terminal is not built');
  await open(page, '#v=2');
  await openGroups(page);
  await setNumber(page, 'workload.rate_rps', 1.9);
  await pin(page);
  await control(page, ORDER).locator('select').selectOption('lifo');
  await changed(page);
  const expected = printed(SLORA, '--set', 'workload.rate_rps=1.9', '--set-b', `${ORDER}=lifo`, '--seeds', '10');
  const paths = ['ttft_s.mean', 'ttft_s.p99', 'e2e_s.mean', 'throughput_rps', 'gpu.busy'];
  for (const path of paths) {
    const { a, b, difference, low, high } = expected.metrics[path] ?? {} as Row;
    expect(await row(page, path)).toEqual({ a, b, difference, low, high });
  }
  const first = expected.first_difference;
  const decision = page.locator('[data-compare] [data-decision]');
  await expect(decision).toHaveAttribute('data-decision', String(first.time_s));
  await expect(decision).toHaveAttribute('data-request', String(first.a.request));
  for (const chart of ['compare_latency_cdf', 'compare_running_waiting', 'ttft_pairs']) {
    await page.locator(`[data-chart=${chart}]`).scrollIntoViewIfNeeded();
    await drawn(page, chart);
  }
  // The request of the first decision that differs is marked where both runs are drawn.
  for (const chart of ['compare_running_waiting', 'ttft_pairs']) {
    await expect(page.locator(`[data-chart=${chart}] .marked-moment`)).toHaveAttribute('data-words', new RegExp(`\\b${String(first.a.request)}\\b`));
  }
  const before = await row(page, 'ttft_s.p99');
  const address = await link(page);
  await page.goto('about:blank');
  await page.goto(address);
  await compared(page, 10);
  expect(await row(page, 'ttft_s.p99')).toEqual(before);
  expect(await violations(page, { within: 'compare-section' })).toEqual([]);
});

test('a metric that is added is in the link, and one that does not exist is left out', async ({ page }) => {
  await open(page, '#v=4&D=60&u=3&n=0&pin=;10;v=4%26D=60%26u=3%26n=0%26R=1&metrics=per_user.2.ttft_p99_s,nothing');
  await compared(page, 10);
  const chips = page.locator('.compare-more [data-chosen]');
  await expect(chips).toHaveCount(1);
  await expect(page.locator('[data-compare] [data-metric="per_user.2.ttft_p99_s"]')).toBeVisible();
  await page.locator('.compare-more [data-item=metric]').selectOption('per_user.0.ttft_mean_s');
  await expect(chips).toHaveCount(2);
  const address = await link(page);
  await page.goto('about:blank');
  await page.goto(address);
  await compared(page, 10);
  await expect(chips).toHaveCount(2);
});

test('A and B swap, and a pinned run can be let go', async ({ page }) => {
  await open(page, '#v=2');
  await openGroups(page);
  await pin(page);
  await setNumber(page, 'workload.rate_rps', 1);
  await compared(page, 10);
  const before = await row(page, 'ttft_s.mean');
  expect(before.difference).toBeLessThan(0);
  await page.locator('[data-action=swap]').click();
  await expect.poll(async () => (await row(page, 'ttft_s.mean')).difference, { timeout: 40_000 }).toBe(-before.difference);
  await page.locator('[data-action=unpin]').click();
  await expect(page.locator('[data-compare]')).toHaveAttribute('data-compare', 'none');
  expect(await link(page)).not.toContain('pin=');
});

test('where the better of A and B changes is the terminal’s, and a link has it again', ONLY_WHOLE, async ({ page }) => {
  test.skip(terminal() === null, 'the terminal is not built');
  await open(page, '#v=2&D=120');
  await openGroups(page);
  await setNumber(page, 'workload.rate_rps', 1.9);
  await pin(page);
  await control(page, ORDER).locator('select').selectOption('lifo');
  const crossover = page.locator('crossover-section');
  await page.locator('[data-fold=crossover] > summary').click();
  await crossover.locator('[name=from]').fill('nothing');
  await crossover.locator('[data-action=crossover]').click();
  await expect(crossover.locator('.notice.error')).toHaveAttribute('data-code', /./);
  await crossover.locator('[name=from]').fill('0.3');
  await crossover.locator('[name=to]').fill('6');
  await crossover.locator('[data-action=crossover]').click();
  const found = async (): Promise<FoundCrossover[]> => {
    await expect(crossover).toHaveAttribute('data-crossover', 'ready', { timeout: 60_000 });
    return JSON.parse(await crossover.locator('[data-crossovers]').getAttribute('data-crossovers') ?? '') as FoundCrossover[];
  };
  const options = ['--set', 'workload.rate_rps=1.9', '--set', 'workload.duration_s=120', '--set-b', `${ORDER}=lifo`, '--seeds', '10'];
  const { crossovers } = printed(SLORA, ...options, '--crossover', 'workload.arrivals.cv=0.3:6:log', '--metric', 'ttft_s.p90').crossover;
  expect(crossovers.length).toBeGreaterThan(0);
  expect(await found()).toEqual(crossovers);
  await page.locator('[data-chart=crossover]').scrollIntoViewIfNeeded();
  await drawn(page, 'crossover');
  const address = await link(page);
  await page.goto('about:blank');
  await page.goto(address);
  expect(await found()).toEqual(crossovers);
  expect(await violations(page, { within: 'crossover-section' })).toEqual([]);
  await page.setViewportSize({ width: 360, height: 800 });
  await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
});
