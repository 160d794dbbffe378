// What fleets show beside the rest: their charts, their files, and the way to Perfetto.
import { another, drawn, expect, exported, metric, open, setNumber, test } from './page.js';

const CHARTS = ['lanes', 'operators', 'batch', 'preemptions'];
const SINGLE = '#v=1&R=6&D=30';
/** Three replicas with little memory, so that requests are preempted. */
const FLEET = `${SINGLE}&sched=vllm_v1&rep=3&pool=3000`;

test('every replica has its charts, a single server’s too', async ({ page }) => {
  await open(page, SINGLE);
  // S-LoRA preempts no request.
  for (const name of CHARTS.filter((name) => name !== 'preemptions')) await drawn(page, name);
  await another(page, FLEET);
  for (const name of CHARTS) {
    const chart = page.locator(`[data-chart="${name}"]`);
    await drawn(page, name);
    await expect(chart.locator('h3')).not.toContainText('chart.');
    for (const entry of await chart.locator('.legend li').allTextContents()) expect(entry).not.toMatch(/[a-z]_[a-z]|\./);
  }
  await expect(page.locator('[data-chart="utilisation"] .empty')).toHaveAttribute('data-empty', 'empty.no_peak');
  expect(await metric(page, 'gpu.busy')).toBeGreaterThan(0);
});

test('the cursor counts the replicas that do each thing', async ({ page }) => {
  await open(page, FLEET);
  const plot = page.locator('[data-chart="lanes"] .plot');
  await plot.scrollIntoViewIfNeeded();
  await plot.hover();
  const values = await page.locator('[data-chart="lanes"] .read-out dd').allTextContents();
  expect(values).toHaveLength(3);
  const counts = values.map(Number);
  expect(counts.every((count) => Number.isInteger(count) && count >= 0)).toBe(true);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(3);
});

test('files of a fleet: the parts of an iteration, events, a trace', async ({ page }) => {
  await open(page, FLEET);
  const [heading = '', ...batches] = (await exported(page, 'batches.csv')).trimEnd().split('\n');
  const columns = heading.split(',');
  const ms = columns.flatMap((name, index) => (name.endsWith('_ms') ? [index] : []));
  expect(ms).toHaveLength(8);
  for (const row of batches) {
    const cells = row.split(',');
    const sum = ms.reduce((total, index) => total + Number(cells[index]), 0);
    expect(sum / 1e3).toBeCloseTo(Number(cells[columns.indexOf('duration_s')]), 9);
  }
  const events = (await exported(page, 'events.csv')).trimEnd().split('\n').slice(1).map((row) => row.split(','));
  const times = events.map(([time]) => Number(time));
  expect(times.every((time, index) => index === 0 || time >= (times[index - 1] ?? 0))).toBe(true);
  expect(new Set(events.map(([, event]) => event))).toEqual(new Set(['arrived', 'scheduled', 'first_token', 'preempted', 'resumed', 'finished']));
  const trace = JSON.parse(await exported(page, 'trace.json')) as { traceEvents: { ph: string; pid: number }[] };
  expect(new Set(trace.traceEvents.map(({ ph }) => ph))).toEqual(new Set(['M', 'X', 'C']));
  expect(new Set(trace.traceEvents.map(({ pid }) => pid))).toEqual(new Set([0, 1, 2]));
});

test('a click hands the trace to Perfetto’s window, and nothing before it', async ({ page, context }) => {
  const elsewhere: string[] = [];
  context.on('request', (request) => { if (request.url().startsWith('https:')) elsewhere.push(request.url()); });
  // A stand-in for the site: it answers late, as a page that loads, and shows what it was given.
  await context.route('https://ui.perfetto.dev/**', (route) => route.fulfill({
    contentType: 'text/html',
    body: `<title>stand-in</title><script>
      setTimeout(() => addEventListener('message', ({ data, source, origin }) => {
        if (data === 'PING') source.postMessage('PONG', origin);
        else document.title = JSON.stringify({ origin, events: JSON.parse(new TextDecoder().decode(data.perfetto.buffer)).traceEvents.length, file: data.perfetto.fileName });
      }), 400);</script>`,
  }));
  await open(page, FLEET);
  expect(elsewhere).toEqual([]);
  await page.locator('.menu.share > button').click();
  const item = page.locator('.menu.share [data-item=perfetto]');
  await expect(item).toContainText('ui.perfetto.dev');
  const [viewer] = await Promise.all([context.waitForEvent('page'), item.click()]);
  await expect.poll(() => viewer.title()).toContain('events');
  const given = JSON.parse(await viewer.title()) as { origin: string; events: number; file: string };
  expect(given.origin).toBe(new URL(page.url()).origin);
  expect(given.events).toBeGreaterThan(10);
  expect(given.file).toBe('servescope-trace.json');
});

test('every replica in numbers, asked for where they are looked at', async ({ page }) => {
  await open(page, FLEET);
  const fold = page.locator('.replicas details.fold');
  await expect(fold.locator('table')).toHaveCount(0);
  await fold.locator('summary').click();
  const rows = fold.locator('tbody tr');
  await expect(rows).toHaveCount(3);
  const column = async (place: number): Promise<number> => {
    const cells = await rows.locator(`td:nth-child(${String(place)})`).allTextContents();
    return cells.reduce((sum, cell) => sum + Number(cell.replaceAll(',', '')), 0);
  };
  const summary = JSON.parse(await exported(page, 'summary.json')) as {
    requests: { offered: number; completed: number }; fleet: { per_replica: { iterations: number }[] };
  };
  expect(await column(2)).toBe(summary.requests.offered);
  expect(await column(3)).toBe(summary.requests.completed);
  expect(await column(4)).toBe(summary.fleet.per_replica.reduce((sum, row) => sum + row.iterations, 0));
  // It follows the next run while it is open.
  await setNumber(page, 'workload.rate_rps', 8);
  await expect.poll(() => column(2)).toBe(240);
});
