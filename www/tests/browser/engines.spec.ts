// What the page starts with has one scheduler and one order; the others are fetched when a scenario asks for them.
import { control, digest, dropFile, expect, open, openGroups, test } from './page.js';
import { terminal } from './terminal.js';

const ORDERS = ['vtc', 'lifo', 'drr', 'cluster', 'early_abort'];
const BUSY = 'v=1&R=4&u=5';
const SETTINGS = ['--set', 'workload.rate_rps=4', '--set', 'workload.users.count=5'];

test('every order of service gives the terminal’s digest', async ({ page }) => {
  const run = terminal();
  test.skip(run === null, 'target/release/servescope is not built');
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
    expect(await digest(page), name).toBe(run('simulate', ...SETTINGS, '--set', `scheduler.order=${name}`, '--json').digest);
  }
  expect(fetched.length).toBe(1);
});

test('a file stays in use when a larger engine is fetched', async ({ page }) => {
  await open(page, `#${BUSY}`);
  const rows = Array.from({ length: 400 }, (_, id) => `${String(id / 40)},${String(id % 3)},200,60`);
  await dropFile(page, 'mine.csv', Buffer.from(`arrival_s,user,input_tokens,output_tokens\n${rows.join('\n')}\n`));
  await expect(page.locator('.trace-in-use')).toContainText('400 requests');
  await openGroups(page);
  const before = await digest(page);
  await control(page, 'scheduler.order').locator('select').selectOption('lifo');
  await expect.poll(() => digest(page)).not.toBe(before);
  await expect(page.locator('.trace-in-use')).toContainText('400 requests');
  await expect(page.locator('html')).toHaveAttribute('data-state', 'ready');
});
