// A sweep on the page: the terminal's numbers to the bit, the same from a link and after a reload, what is kept, and a run opened.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator, Page } from '@playwright/test';
import { atRest, control, drawn, expect, link, numberBox, open, openGroups, settled, test, violations } from './page.js';
import { PROGRAM, terminal } from './terminal.js';

interface Cell { mean: number | null; low: number | null; high: number | null; seeds: number }
interface Told { sweep: string; points: { point: Record<string, unknown>; metrics: Record<string, Cell> }[] }

/** Every setting by name: the id of a sweep is of what its base names. */
const SHORT = 'v=5&R=1.9&alpha=1&n=200&in=uniform&inh=511&out=uniform&outh=511&sched=slora&ranks=8&cost=linear&slot=6&slob=0.2&ck=constant&D=61';
const CV = 'workload.arrivals.cv';
const ORDER = 'scheduler.order';
const MANY_RUNS = '#v=4&D=50&sweep=' + encodeURIComponent(`20|ttft_s.mean|v=4&D=300|${CV}=1:4:30`);

const section = (page: Page): Locator => page.locator('[data-sweep]');

async function swept(page: Page): Promise<void> {
  await expect(section(page)).toHaveAttribute('data-sweep', 'ready', { timeout: 60_000 });
}

async function unfold(page: Page): Promise<void> {
  await page.locator('details.fold.sweep > summary').click();
  await expect(section(page)).toBeVisible();
}

/** Looked at where the page's own header covers no control. */
async function faultless(page: Page): Promise<void> {
  await section(page).locator('[data-item=metric]').evaluate((element) => { element.scrollIntoView({ block: 'center' }); });
  expect(await violations(page, { within: 'sweep-section' })).toEqual([]);
}

/** The numbers of the table, in the terminal's form. */
async function points(page: Page): Promise<Told['points']> {
  return section(page).locator('tr[data-point]').evaluateAll((rows) => rows.map((row) => {
    const number = (cell: HTMLElement, key: string): number | null => cell.dataset[key] === '' ? null : Number(cell.dataset[key]);
    const cells = [...row.querySelectorAll<HTMLElement>('td')];
    const metrics = Object.fromEntries(cells.map((cell) => [cell.dataset['cell'] ?? '', { mean: number(cell, 'mean'), low: number(cell, 'low'), high: number(cell, 'high'), seeds: Number(cell.dataset['seeds']) }]));
    return { point: JSON.parse((row as HTMLElement).dataset['point'] ?? '') as Record<string, unknown>, metrics };
  }));
}

/** What the terminal says to the same sweep, and the lines of its runs. */
function printed(setting: string, over: readonly string[], metrics: readonly string[], seeds: number): { results: Told; lines: string } {
  const out = join(mkdtempSync(join(tmpdir(), 'servescope-')), 'sweep.jsonl');
  const options = ['sweep', '--link', `#${setting}`, ...over.flatMap((one) => ['--over', one]), '--metric', metrics.join(), '--seeds', String(seeds), '--json', '--out', out];
  const results = JSON.parse(execFileSync(PROGRAM, options, { encoding: 'utf8', maxBuffer: 1 << 26, stdio: ['ignore', 'pipe', 'ignore'] })) as Told;
  return { results, lines: readFileSync(out, 'utf8') };
}

async function downloaded(page: Page): Promise<string> {
  const [file] = await Promise.all([page.waitForEvent('download'), section(page).locator('[data-action=lines]').click()]);
  return readFileSync(await file.path(), 'utf8');
}

test('a metric of one user is measured, and an index that no user has is stated', async ({ page }) => {
  test.skip(terminal() === null, 'the terminal is not built');
  await open(page, `#${SHORT}&u=3`);
  await unfold(page);
  const x = section(page).locator('[data-axis=x]');
  for (const [item, value] of [['from', '1'], ['to', '2'], ['steps', '2']] as const) await x.locator(`[data-item=${item}]`).fill(value);
  await section(page).locator('[data-item=metric]').selectOption('per_user.0.ttft_mean_s');
  const index = section(page).locator('[data-item=index]');
  await index.fill('9');
  await index.blur();
  await section(page).locator('[data-item=seeds]').selectOption('3');
  await section(page).locator('[data-action=sweep]').click();
  await expect(section(page).locator('[data-code=no_such_user]')).toContainText('9');
  await index.fill('1');
  await index.blur();
  await section(page).locator('[data-action=sweep]').click();
  await swept(page);
  const { results } = printed(`${SHORT}&u=3`, ['workload.rate_rps=1:2:2:log'], ['ttft_s.p99', 'per_user.1.ttft_mean_s'], 3);
  expect(await points(page)).toEqual(results.points.map(({ point, metrics }) => ({ point, metrics })));
  await expect(section(page).locator('[data-chart="sweep_per_user.1.ttft_mean_s"] h3')).toContainText('user 1');
});

test('a sweep has the terminal’s numbers, one curve a policy, and its link has them again', async ({ page }) => {
  test.skip(terminal() === null, 'the terminal is not built');
  await open(page, `#${SHORT}`);
  await unfold(page);
  const x = section(page).locator('[data-axis=x]');
  await x.locator('[data-item=parameter]').selectOption(CV);
  await x.locator('[data-item=spacing]').selectOption('log');
  for (const [item, value] of [['from', '0.5'], ['to', '4'], ['steps', '3']] as const) await x.locator(`[data-item=${item}]`).fill(value);
  const by = section(page).locator('[data-axis=by]');
  await by.locator('[data-item=parameter]').selectOption(ORDER);
  for (const box of await by.locator('[data-option]').all()) await box.setChecked(['fcfs', 'lifo'].includes(await box.getAttribute('data-option') ?? ''));
  await section(page).locator('[data-item=metric]').selectOption('slo.attainment');
  await section(page).locator('[data-item=seeds]').selectOption('3');
  await section(page).locator('[data-action=sweep]').click();
  await swept(page);
  const { results, lines } = printed(SHORT, [`${CV}=0.5:4:3:log`, `${ORDER}=fcfs,lifo`], ['ttft_s.p99', 'slo.attainment'], 3);
  expect(await points(page)).toEqual(results.points.map(({ point, metrics }) => ({ point, metrics })));
  await expect(section(page)).toHaveAttribute('data-id', results.sweep);
  expect(await downloaded(page)).toBe(lines);
  for (const metric of ['ttft_s.p99', 'slo.attainment']) await drawn(page, `sweep_${metric}`);
  const legend = section(page).locator('[data-chart="sweep_ttft_s.p99"] .legend');
  await expect(legend.locator('li:not([hidden])')).toHaveCount(3);
  await faultless(page);
  const before = await points(page);
  const address = await link(page);
  await page.goto('about:blank');
  await page.goto(address.replace(/^#/, './#'));
  await swept(page);
  expect(await points(page)).toEqual(before);
  await expect(section(page)).toHaveAttribute('data-kept', '18');
});

/** The answers to so many runs of a sweep come through; the others wait for `goOn`. So a sweep stands in its middle, however fast it is. */
const HOLD = (most: number): void => {
  const held: (() => void)[] = [];
  let isHeld = true;
  let done = 0;
  Object.assign(window, { goOn: () => {
    isHeld = false;
    for (const answer of held.splice(0)) answer();
  } });
  const { get, set } = Object.getOwnPropertyDescriptor(Worker.prototype, 'onmessage') as Required<Pick<PropertyDescriptor, 'get' | 'set'>>;
  const runs = new Set<string>();
  const post = Object.getOwnPropertyDescriptor(Worker.prototype, 'postMessage')?.value as (this: Worker, ...all: unknown[]) => void;
  const names = new WeakMap<Worker, number>();
  let last = 0;
  const ticketOf = (worker: Worker, ticket: number): string => {
    if (!names.has(worker)) names.set(worker, last += 1);
    return `${String(names.get(worker))} ${String(ticket)}`;
  };
  Worker.prototype.postMessage = function (this: Worker, message: { kind?: string; ticket?: number }, ...rest: never[]) {
    if (message.kind === 'metrics') runs.add(ticketOf(this, message.ticket ?? 0));
    post.call(this, message, ...rest);
  };
  Object.defineProperty(Worker.prototype, 'onmessage', {
    get,
    set(this: Worker, listener: (event: MessageEvent<{ kind: string; ticket: number }>) => void) {
      set.call(this, (event: MessageEvent<{ kind: string; ticket: number }>) => {
        const isRun = event.data.kind === 'reply' && runs.has(ticketOf(this, event.data.ticket));
        if (isRun) done += 1;
        if (isRun && isHeld && done > most) held.push(() => { listener(event); });
        else listener(event);
      });
    },
  });
};

test('a reload in the middle of a sweep loses no run and repeats none', async ({ page }) => {
  await page.addInitScript(HOLD, 40);
  await open(page, MANY_RUNS);
  await expect(section(page)).toHaveAttribute('data-done', '40', { timeout: 30_000 });
  await page.reload();
  await settled(page);
  // What was kept before, and as many again.
  await expect(section(page)).toHaveAttribute('data-done', '80', { timeout: 30_000 });
  const kept = Number(await section(page).getAttribute('data-kept'));
  expect(kept).toBeGreaterThanOrEqual(40);
  await section(page).locator('[data-action=stop]').click();
  await page.evaluate(() => { (window as unknown as { goOn: () => void }).goOn(); });
  await expect(section(page)).toHaveAttribute('data-sweep', 'stopped');
  // What was simulated so far is shown, and stands still.
  await atRest(page);
  const stopped = Number(await section(page).getAttribute('data-done'));
  expect(stopped).toBeGreaterThanOrEqual(kept);
  expect(stopped).toBeLessThan(600);
  expect((await points(page)).length).toBeGreaterThan(0);
  const lines = (await downloaded(page)).trimEnd().split('\n').map((line) => (JSON.parse(line) as { index: number }).index);
  expect(new Set(lines).size).toBe(stopped);
  await section(page).locator('[data-action=again]').click();
  await swept(page);
  await expect(section(page)).toHaveAttribute('data-done', '600');
});

test('a point opens its run, and the sweep stays', async ({ page }) => {
  await open(page, '#v=4&sweep=' + encodeURIComponent(`1|ttft_s.mean|v=4&D=50|${CV}=1,2,4`));
  await openGroups(page);
  await swept(page);
  const plot = section(page).locator('[data-chart="sweep_ttft_s.mean"] .plot');
  await drawn(page, 'sweep_ttft_s.mean');
  const box = await plot.boundingBox();
  if (box === null) throw new Error('the chart has no box');
  await plot.click({ position: { x: box.width - 20, y: box.height / 2 } });
  const picked = section(page).locator('[data-picked]');
  await expect(picked).toHaveAttribute('data-picked', '2');
  await expect(section(page).locator('[data-other]')).toBeVisible();
  await picked.locator('[data-action=open]').click();
  await settled(page);
  await expect(numberBox(page, CV)).toHaveValue('4');
  await expect(section(page)).toHaveAttribute('data-sweep', 'ready');
  await page.goBack();
  await settled(page);
  await expect(numberBox(page, CV)).toHaveValue('1');
});

test('two ranges make a heat map with the terminal’s numbers and the contour of the SLO', async ({ page }) => {
  test.skip(terminal() === null, 'the terminal is not built');
  const over = ['workload.rate_rps=1:3:5', `${CV}=1:4:3:log`];
  await open(page, '#v=4&sweep=' + encodeURIComponent(`2|ttft_s.p99|v=4|${over.join('|')}`));
  await swept(page);
  const { results } = printed('v=4', over, ['ttft_s.p99'], 2);
  expect(await points(page)).toEqual(results.points.map(({ point, metrics }) => ({ point, metrics })));
  const chart = section(page).locator('[data-chart="sweep_ttft_s.p99"]');
  await drawn(page, 'sweep_ttft_s.p99');
  await expect(chart.locator('.swatch[data-role=slo]')).toHaveCount(1);
  await expect(chart.locator('.swatch[data-role^=shade]')).toHaveCount(9);
  const box = await chart.locator('canvas').boundingBox();
  if (box === null) throw new Error('the chart has no box');
  // The last field of the uppermost row.
  await chart.locator('.plot').click({ position: { x: box.width - 40, y: 20 } });
  await expect(section(page).locator('[data-picked]')).toHaveAttribute('data-picked', '14');
  await expect(section(page).locator('[data-axis=y] [data-item=parameter]')).toHaveValue(CV);
  await faultless(page);
});

test('what cannot be swept is said in both languages', async ({ page }) => {
  await open(page, '#v=4&sweep=' + encodeURIComponent(`1|ttft_s.mean|v=4|${CV}=4:1:3`));
  await expect(section(page)).toHaveAttribute('data-sweep', 'failed');
  await expect(section(page).locator('.notice.error')).toContainText('runs upwards');
  await open(page, '#v=4&lang=zh&sweep=' + encodeURIComponent(`2|ttft_s.mean|v=4&D=50|${CV}=1,2|${ORDER}=fcfs,lifo`));
  await swept(page);
  await expect(section(page).locator('[data-chart="sweep_ttft_s.mean"] h3')).toContainText('随');
  expect(await control(page, CV).count()).toBeGreaterThan(0);
  await section(page).locator('[data-action=clear]').click();
  await expect(section(page)).toHaveAttribute('data-sweep', 'none');
  expect(await link(page)).not.toContain('sweep=');
});

test('a closed form stands beside the points that it speaks of, and what breaks it is named', async ({ page, request }) => {
  test.skip(terminal() === null, 'the terminal is not built');
  const preset = await (await request.get('presets/mm1.json')).json() as { scenario: unknown };
  const folder = mkdtempSync(join(tmpdir(), 'servescope-'));
  const [file, csv] = [join(folder, 'mm1.json'), join(folder, 'points.csv')];
  writeFileSync(file, JSON.stringify(preset.scenario));
  const over = 'workload.rate_rps=0.3,0.8';
  execFileSync(PROGRAM, ['sweep', file, '--over', over, '--over', `${ORDER}=fcfs,lifo`, '--metric', 'queue_s.mean,ttft_s.p99', '--seeds', '2', '--closed-forms', '--csv', csv], { stdio: 'ignore' });

  await open(page);
  await page.locator('#menu-presets').evaluate((menu: HTMLElement) => { menu.showPopover(); });
  await page.locator('button.preset[data-preset=mm1]').click();
  await expect(page.locator('.menu.presets > button span')).toHaveAttribute('data-preset', 'mm1');
  const setting = (await link(page)).slice(1);
  await open(page, `#${setting}&sweep=${encodeURIComponent(`2|queue_s.mean,ttft_s.p99|${setting}|${over}|${ORDER}=fcfs,lifo`)}`);
  await swept(page);
  const chart = section(page).locator('chart-view', { hasText: 'M/M/1' });
  await expect(chart).toHaveCount(1);
  const [saved] = await Promise.all([page.waitForEvent('download'), section(page).locator('[data-action=csv]').click()]);
  expect(readFileSync(await saved.path(), 'utf8')).toBe(readFileSync(csv, 'utf8'));
  await section(page).locator('details[data-fold=sweep-closed-forms] > summary').click();
  const printed = section(page).locator('[data-closed-form]');
  await expect(printed).toHaveCount(2);
  await expect(printed.first()).toHaveAttribute('data-closed-form', 'M/M/1');
  await expect(printed.first().locator('[data-obstacle]')).toHaveCount(1);
  await expect(printed.first().locator('[data-obstacle]')).toHaveAttribute('data-obstacle', ORDER);
  await expect(printed.last()).toHaveAttribute('data-closed-form', '');
  await faultless(page);
});
