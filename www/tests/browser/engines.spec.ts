// What the page starts with has every scheduler and scheduling policy: nothing is fetched when a scenario asks for another.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { control, digest, dropFile, expect, goTo, open, openGroups, test } from './page.js';
import { SLORA, terminal } from './terminal.js';

const ORDERS = ['vtc', 'lifo', 'drr', 'cluster', 'early_abort'];
const BUSY = 'v=1&R=4&u=5';
const SETTINGS = ['--set', 'workload.rate_rps=4', '--set', 'workload.users.count=5'];

test('every scheduling policy gives the terminal’s digest', async ({ page }) => {
  const run = terminal();
  test.skip(run === null, 'the terminal is not built');
  if (run === null) return;
  await open(page, `#${BUSY}`);
  await openGroups(page);
  const fetched: string[] = [];
  page.on('request', (request) => { if (request.url().endsWith('.wasm')) fetched.push(request.url()); });
  const order = control(page, 'scheduler.order').locator('select');
  const known = await order.locator('option').evaluateAll((options) => options.map((option) => (option as HTMLOptionElement).value));
  for (const name of ORDERS.filter((name) => known.includes(name))) {
    const before = await digest(page);
    await order.selectOption(name);
    await expect.poll(() => digest(page), name).not.toBe(before);
    expect(await digest(page), name).toBe(run('simulate', SLORA, ...SETTINGS, '--set', `scheduler.order=${name}`, '--json').digest);
  }
  expect(fetched).toEqual([]);
});

test('the pinned scenarios have their pinned digests', async ({ page }) => {
  const file = join(import.meta.dirname, '../../../tests/digests.json');
  const cases = JSON.parse(readFileSync(file, 'utf8')) as { name: string; scenario: unknown; digest: string }[];
  expect(cases).toHaveLength(16);
  await open(page);
  for (const { name, scenario, digest: pinned } of cases) {
    await dropFile(page, 'scenario.json', Buffer.from(JSON.stringify(scenario)));
    await expect.poll(() => digest(page), name).toBe(pinned);
  }
});

test('a file stays in use when another order is chosen', async ({ page }) => {
  await open(page, `#${BUSY}`);
  const rows = Array.from({ length: 400 }, (_, id) => `${String(id / 40)},${String(id % 3)},200,60`);
  await dropFile(page, 'mine.csv', Buffer.from(`arrival_s,user,input_tokens,output_tokens\n${rows.join('\n')}\n`));
  await expect(page.locator('.trace-in-use')).toHaveAttribute('data-requests', '400');
  await openGroups(page);
  const before = await digest(page);
  await control(page, 'scheduler.order').locator('select').selectOption('lifo');
  await expect.poll(() => digest(page)).not.toBe(before);
  await expect(page.locator('.trace-in-use')).toHaveAttribute('data-requests', '400');
  await expect(page.locator('html')).toHaveAttribute('data-state', 'ready');
});

test('the simulator is fetched once: every worker that simulates shares the compiled module', async ({ page }) => {
  const modules: string[] = [];
  page.on('request', (request) => {
    const [, name] = /\/(\w+)-[^/]*\.wasm$/.exec(request.url()) ?? [];
    if (name !== undefined) modules.push(name);
  });
  await open(page, `#${BUSY}`);
  await page.locator('details.monitor > summary').click();
  await expect(page.locator('monitor-section')).toHaveAttribute('data-state', 'ready');
  await page.locator('[data-tab=plan]').click();
  await expect(page.locator('capacity-page')).toHaveAttribute('data-state', 'ready');
  await page.locator('[data-tab=validation]').click();
  await expect(page.locator('validation-page')).toHaveAttribute('data-state', 'ready');
  await goTo(page, '#v=2&sched=vllm_v1&n=0&D=60');
  await expect(page.locator('html')).toHaveAttribute('data-state', 'ready');
  expect(modules).toEqual(['servescope_bg']);
});
