// What the page holds and gives back: workers that die, lessons that are left.
import type { Page } from '@playwright/test';
import { atRest, control, digest, expect, goTo, missed, open, settled, test, WHOLE } from './page.js';

/** Keeps the workers that the page starts. */
const KEEP = (): void => {
  const kept: Worker[] = [];
  Object.assign(window, { kept });
  window.Worker = class extends Worker {
    constructor(address: string | URL, options?: WorkerOptions) {
      super(address, options);
      if (/\/worker-[^/]*\.js$/.test(String(address))) kept.push(this);
    }
  };
};
const started = (page: Page): Promise<number> => page.evaluate(() => (window as unknown as { kept: Worker[] }).kept.length);
const kill = (page: Page): Promise<void> => page.evaluate(() => { (window as unknown as { kept: Worker[] }).kept.at(-1)?.dispatchEvent(new ErrorEvent('error', { message: 'unreachable' })); });

test('a simulation whose worker dies, and whose script is out of reach by then, says so and starts no worker after worker', async ({ page, trouble }) => {
  await page.addInitScript(KEEP);
  await open(page);
  const before = await digest(page);
  await atRest(page);
  await page.route('**/assets/worker-*.js', (route) => route.abort());
  await kill(page);
  const html = page.locator('html');
  await expect(html).toHaveAttribute('data-state', 'failed');
  const lost = page.locator('[data-notice="lost missing_part"]');
  await expect(lost).toBeVisible();
  await atRest(page);
  expect(await started(page)).toBe(2);
  // The result stays, and another try is a worker more.
  expect(await digest(page)).toBe(before);
  await lost.locator('button.act').click();
  await settled(page);
  await atRest(page);
  await expect(html).toHaveAttribute('data-state', 'failed');
  expect(await started(page)).toBe(3);
  await page.unroute('**/assets/worker-*.js');
  await lost.locator('button.act').click();
  await expect(html).toHaveAttribute('data-state', 'ready');
  await expect(page.locator('.notice.error')).toHaveCount(0);
  expect(await digest(page)).toBe(before);
  await missed(trouble);
});

test('a worker that dies at rest is replaced, and the page answers questions about its run', async ({ page }) => {
  await page.addInitScript(KEEP);
  await open(page);
  await kill(page);
  await expect(page.locator('[data-notice=restarted]')).toBeVisible();
  await atRest(page);
  expect(await started(page)).toBe(2);
  await expect(page.locator('html')).toHaveAttribute('data-state', 'ready');
  await page.locator('details[data-fold=why] > summary').click();
  await expect(page.locator('.causes-table tr[data-cause]').first()).toBeVisible();
  await control(page, 'workload.rate_rps').locator('input[type=range]').press('ArrowRight');
  await settled(page);
  await expect(page.locator('html')).toHaveAttribute('data-state', 'ready');
});

test('lessons that are opened and left again and again leave nothing behind', async ({ page }) => {
  test.slow();
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable');
  const held = async (): Promise<Record<string, number>> => {
    await atRest(page);
    await devtools.send('HeapProfiler.collectGarbage');
    const { metrics } = await devtools.send('Performance.getMetrics');
    return Object.fromEntries(metrics.filter(({ name }) => ['Nodes', 'JSEventListeners'].includes(name)).map(({ name, value }) => [name, value]));
  };
  const visit = async (times: number): Promise<void> => {
    for (let time = 0; time < times; time += 1) {
      // The first screen has the picture of the run, the third two runs beside each other.
      for (const screen of [1, 3]) {
        await goTo(page, `#v=4&tab=learn.waiting.${String(screen)}`);
        await expect(page.locator(`[data-lesson=waiting] [data-screen="${String(screen)}"]`)).toBeVisible();
      }
      await goTo(page, '#v=4&tab=learn');
      await expect(page.locator('lesson-view')).toHaveCount(0);
    }
  };
  await open(page, '#v=4&tab=learn');
  await visit(3);
  const before = await held();
  const times = WHOLE ? 30 : 10;
  await visit(times);
  const after = await held();
  // One picture that stays has five listeners.
  const more = (name: string): number => ((after[name] ?? NaN) - (before[name] ?? NaN)) / times;
  expect(more('JSEventListeners')).toBeLessThan(2);
  expect(more('Nodes')).toBeLessThan(50);
});
