// The picture of the run, the order and density of the results, and what holds at every width.
import { brush, control, digest, dismiss, drawn, expect, frames, goTo, link, metric, open, settled, test, unfold } from './page.js';

test('the picture shows the run at its longest queue, and is scrubbed with the cursor of all charts', async ({ page }) => {
  await open(page);
  const time = page.locator('run-hero .hero-time');
  await expect(time).toHaveAttribute('data-why', 'longest');
  const picture = page.locator('run-hero canvas');
  const pixels = (): Promise<string> => picture.evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL());
  await expect.poll(() => picture.evaluate((canvas: HTMLCanvasElement) => new Set(new Uint32Array(canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data.buffer ?? new ArrayBuffer(0))).size)).toBeGreaterThan(5);
  const rest = await pixels();
  const slider = page.getByRole('slider', { name: 'Time of the picture' });
  await slider.focus();
  await page.keyboard.press('Shift+ArrowRight');
  await page.keyboard.press('Shift+ArrowRight');
  await expect(time).toHaveAttribute('data-why', 'cursor');
  await expect(page.locator('[data-station=waiting]')).toContainText('now');
  await expect(page.locator('[data-chart=running_waiting] .cursor-line')).toBeVisible();
  await expect.poll(pixels).not.toBe(rest);
  await expect(slider).toHaveAttribute('aria-valuetext', /waiting, \d+ in the batch/);
  await slider.blur();
  await expect(time).toHaveAttribute('data-why', 'longest');
  // No motion where the reader asks for none.
  await expect(page.locator('run-hero [data-action=play]')).toHaveCount(0);
});

test('the picture plays by itself towards the longest queue, and stops where someone points at another time', async ({ page }) => {
  await open(page);
  const time = async (): Promise<number> => Number(await page.locator('run-hero .hero-time').getAttribute('data-time'));
  await expect.poll(time).toBeGreaterThan(8);
  const longest = await time();
  await page.emulateMedia({ reducedMotion: 'no-preference' });
  await open(page);
  const play = page.getByRole('button', { name: 'Pause' });
  await expect(play).toBeVisible();
  const first = await time();
  expect(first).toBeLessThan(longest);
  await expect.poll(time).toBeGreaterThan(first + 1);
  await page.locator('[data-chart=running_waiting] .plot').hover({ position: { x: 300, y: 40 } });
  await expect(page.getByRole('button', { name: 'Play' })).toBeVisible();
});

test('the picture plays on request', async ({ page }) => {
  await page.emulateMedia({ reducedMotion: 'no-preference' });
  await open(page);
  const play = page.locator('run-hero [data-action=play]');
  const time = async (): Promise<number> => Number(await page.locator('run-hero .hero-time').getAttribute('data-time'));
  // It plays by itself at first.
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.locator('run-hero .hero-speed').selectOption('run');
  await play.click();
  await expect(page.locator('run-hero .hero-time')).toHaveAttribute('data-why', 'cursor');
  const first = await time();
  await expect.poll(time).toBeGreaterThan(first + 5);
  // The charts show the time with a line; what they are there is read where it stands.
  await expect(page.locator('[data-chart=running_waiting] .cursor-line')).toBeVisible();
  await expect(page.locator('[data-chart=running_waiting] .read-out')).toBeHidden();
  await play.click();
  await expect(page.locator('[data-chart=running_waiting] .read-out')).toBeVisible();
  const paused = await time();
  // A picture that plays moves with every frame.
  await frames(page, 5);
  expect(await time()).toBe(paused);
  // Slow motion: an iteration a second, and one by one.
  await page.locator('run-hero .hero-speed').selectOption('iteration');
  await play.click();
  await expect.poll(time).toBeGreaterThan(paused);
  await play.click();
  const slow = await time();
  expect(slow - paused).toBeLessThan(5);
  await page.locator('run-hero [data-action=step-on]').click();
  const on = await time();
  expect(on).toBeGreaterThan(slow);
  expect(on - slow).toBeLessThan(1);
  await page.locator('run-hero [data-action=step-back]').click();
  expect(await time()).toBeLessThan(on);
});

test('a click on a request of the picture explains it below, and it stays marked', async ({ page }) => {
  await open(page, '');
  const picture = page.locator('.hero-canvas');
  const box = await picture.boundingBox();
  if (box === null) throw new Error('no picture');
  await expect(async () => {
    // The seats are in the right half, a few pixels below each other.
    for (let y = 12; y < box.height - 20; y += 2) {
      await page.mouse.move(box.x + 0.53 * box.width, box.y + y);
      if (/Request \d/.test(await picture.getAttribute('title') ?? '')) return;
    }
    throw new Error('no request in the picture');
  }).toPass();
  const [, id] = /Request (\d+) of user \d+: [\d,]+ prompt tokens/.exec(await picture.getAttribute('title') ?? '') ?? [];
  await page.mouse.down();
  await page.mouse.up();
  const card = page.locator('request-card.of-picture');
  await expect(card.getByRole('heading', { name: `Request ${String(id)}` })).toBeInViewport();
  await expect(card).toContainText('Arrived at');
  await card.getByRole('button', { name: 'Close' }).click();
  await expect(card).toHaveCount(0);
});

test('four numbers stay in sight, answers come before inputs, and the time charts stand on one clock', async ({ page }) => {
  await open(page);
  const order = await page.locator('[data-view=explore] chart-view').evaluateAll((charts) => charts.map((chart) => chart.getAttribute('data-chart')));
  expect(order.slice(0, 5)).toEqual(['rates', 'running_waiting', 'seats', 'memory', 'tokens']);
  expect(order.indexOf('gaps')).toBeGreaterThan(order.indexOf('ttft_by_arrival'));
  const boxes = await page.locator('.happens chart-view').evaluateAll((charts) => charts.map((chart) => chart.getBoundingClientRect()).map(({ top, bottom }) => ({ top, bottom })));
  expect((boxes.at(-1)?.bottom ?? 0) - (boxes[0]?.top ?? 0)).toBeLessThanOrEqual(660);
  await expect(page.locator('.happens .x-axis')).toHaveCount(1);
  // What shows the controls once more, and one replica, is a line each.
  for (const chart of ['gaps', 'batch']) await expect(page.locator(`[data-chart=${chart}]`)).toBeHidden();
  expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBeLessThan(2850);
  for (const chart of ['gaps', 'batch']) await unfold(page, chart);
  await page.locator('[data-chart=gaps] .plot').scrollIntoViewIfNeeded();
  for (const id of ['slo.attainment_all', 'ttft_s.p50', 'ttft_s.p99', 'throughput_rps']) await expect(page.locator(`[data-metric="${id}"]`), id).toBeInViewport();
  expect(await page.locator('.headline.first [data-metric]:not([data-metric="capacity.slo_rps"])').count()).toBe(4);
  await expect(page.locator('[data-metric="gpu.busy"]')).toBeHidden();
  await page.locator('.headline-rest > summary').click();
  await expect(page.locator('[data-metric="gpu.busy"]')).toBeVisible();
  // What says nothing takes one line.
  const nothing = page.locator('[data-chart=preemptions]');
  await nothing.scrollIntoViewIfNeeded();
  await expect(nothing.locator('.empty')).toBeVisible();
  expect((await nothing.locator('.plot').boundingBox())?.height).toBeLessThan(30);
  // A section folds, and its charts are drawn when it opens.
  const latency = page.locator('details.feel');
  await latency.locator('> summary').click();
  await expect(latency.locator('[data-chart=latency_cdf]')).toBeHidden();
  await latency.locator('> summary').click();
  await drawn(page, 'latency_cdf');
});

test('a scatter reads out the nearest point', async ({ page }) => {
  await open(page);
  const chart = page.locator('[data-chart=ttft_by_arrival]');
  await chart.locator('.plot').scrollIntoViewIfNeeded();
  const box = await chart.locator('.plot').boundingBox();
  if (box === null) throw new Error('no chart');
  const read = chart.locator('.read-out');
  await expect(async () => {
    // Somewhere along the lower half of the chart there is a request within 20 px.
    for (let x = 100; x < box.width - 40; x += 23) {
      await page.mouse.move(box.x + x, box.y + box.height - 40);
      if (/Request|request \d/.test(await read.textContent() ?? '')) return;
    }
    throw new Error('no point read out');
  }).toPass();
  await expect(read).toContainText('TTFT');
});

test('the drain behind the traffic is left out until it is asked for', async ({ page }) => {
  await open(page, '#v=2&R=4');
  const end = await metric(page, 'throughput_rps');
  expect(end).toBeGreaterThan(0);
  const note = page.locator('drain-note .drain-note');
  await expect(note).toContainText('a little after the last arrival');
  // Only charts in sight are drawn.
  await page.locator('[data-chart=tokens]').scrollIntoViewIfNeeded();
  await expect(page.locator('[data-chart=tokens] .traffic-end')).toBeVisible();
  await note.locator('[data-action=whole-run]').click();
  await expect(note).toHaveCount(0);
  expect(await link(page)).toContain('zoom=0-');
  await brush(page, page.locator('[data-chart=tokens] .plot'));
  await page.locator('[data-chart=tokens] .reset-zoom').click();
  await expect(note).toBeVisible();
});

test('nothing is wider than the window, from 320 to 2,560 px, in any tab and language', async ({ page }) => {
  test.slow();
  for (const language of ['en', 'zh']) {
    await open(page, `#v=2&lang=${language}`);
    for (const tab of ['learn', 'explore', 'plan', 'validation']) {
      await goTo(page, `#v=2&lang=${language}&tab=${tab}`);
      await dismiss(page);
      for (const width of [320, 360, 390, 600, 801, 859, 860, 1024, 1118, 1280, 1440, 1920, 2560]) {
        await page.setViewportSize({ width, height: 900 });
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        expect(wide, `${tab} at ${String(width)} px, ${language}`).toBe(0);
      }
    }
  }
});

test('the words of the stations are whole on a phone', async ({ page }) => {
  for (const language of ['en', 'zh']) {
    await open(page, `#v=2&lang=${language}`);
    for (const width of [320, 360, 390, 430]) {
      await page.setViewportSize({ width, height: 800 });
      const cut = await page.locator('.station').locator('small, b').evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth && one.clientWidth > 0).map((one) => one.textContent));
      expect(cut, `${String(width)} px, ${language}`).toEqual([]);
    }
  }
});

test('a print has every chart, the settings and the digest', async ({ page }) => {
  await open(page, '#v=2&cv=3');
  const of = await digest(page);
  // Charts out of sight are built after those in sight, and a print cannot wait for them.
  await expect(page.locator('chart-view[data-chart=lengths] .x-axis')).toHaveCount(1);
  await page.evaluate(() => { dispatchEvent(new Event('beforeprint')); });
  await page.emulateMedia({ media: 'print' });
  const colophon = page.locator('.colophon');
  await expect(colophon).toBeVisible();
  await expect(colophon).toContainText(of);
  await expect(colophon).toContainText('workload.arrivals.cv');
  await expect(colophon).toContainText('servescope simulate');
  const blank = await page.locator('[data-view=explore] > details.section chart-view canvas:not([hidden])').evaluateAll((all) => (all as HTMLCanvasElement[])
    .filter((canvas) => new Set(new Uint32Array(canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data.buffer ?? new ArrayBuffer(0))).size < 3)
    .map((canvas) => canvas.closest('chart-view')?.getAttribute('data-chart')));
  expect(blank).toEqual([]);
  await expect(page.locator('aside')).toBeHidden();
});

test('a phone cancels with its thumb', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 800 });
  await open(page);
  await page.evaluate(() => { location.hash = '#v=2&R=50&D=10000'; });
  const cancel = page.locator('.progress-note [data-action=cancel]');
  await cancel.click({ timeout: 15_000 });
  await expect(page.locator('html')).toHaveAttribute('data-stale', 'cancelled');
});

test('a comma is a decimal point, and what cannot be meant is refused', async ({ page }) => {
  await open(page);
  const box = control(page, 'workload.arrivals.cv').locator('input.value');
  await box.fill('1,5');
  await box.press('Enter');
  await settled(page);
  await expect(control(page, 'workload.arrivals.cv').locator('input[type=range]')).toHaveAttribute('aria-valuetext', '1.5');
  await box.fill('1e400');
  await box.press('Enter');
  await expect(control(page, 'workload.arrivals.cv').locator('.control-error')).toBeVisible();
});

test('a sentence computed from the run says behind whom requests wait, and shows that request', async ({ page }) => {
  await open(page, '#v=4&R=2.6');
  const line = page.locator('waiting-line .waiting-line');
  await expect(line).toContainText('Half of all waiting is behind request');
  const button = line.getByRole('button');
  const first = /(\d+)$/u.exec((await button.textContent())?.trim() ?? '')?.[1] ?? '';
  await button.click();
  await expect(page.locator('request-card')).toBeInViewport();
  await expect(page.locator('request-card')).toContainText(first);
  // Where requests hardly wait for each other it says so.
  await goTo(page, '#v=4&R=0.1');
  await expect(line).toContainText('less than half of it behind other requests');
  // Where all wait for all, no request is shown for the rest.
  await goTo(page, '#v=5');
  await expect(line).toContainText(/Waiting is spread: half of it is behind \d+ of 396 requests/u);
  await expect(line.getByRole('button')).toHaveCount(0);
  await goTo(page, '#v=4&R=30&D=200');
  await expect(line).toContainText('up to 5,000 requests');
});
