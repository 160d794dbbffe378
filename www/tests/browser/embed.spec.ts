// One chart with sliders in a frame of another page.
import { control, digest, drawn, expect, link, ONLY_WHOLE, open, setNumber, test, violations } from './page.js';

const CV = 'workload.arrivals.cv';

test('a chart is copied as a frame, which shows it alone with its sliders', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await open(page, '#v=4&R=1.2');
  const whole = await digest(page);
  const chart = page.locator('[data-chart=latency_cdf]');
  const item = chart.locator('[data-item=embed]');
  await item.locator('xpath=ancestor::*[@popover]').evaluate((menu: HTMLElement) => { menu.showPopover(); });
  await item.click();
  await expect(page.locator('[data-notice=embed_copied]')).toBeVisible();
  const frame = await page.evaluate(() => navigator.clipboard.readText());
  await page.setContent(`<!doctype html><title>A blog</title>${frame}`);
  const inner = page.frameLocator('iframe');
  await expect(inner.locator('html')).toHaveAttribute('data-digest', whole, { timeout: 30_000 });
  await expect(inner.locator('chart-view')).toHaveCount(1);
  await expect(inner.locator('parameter-control')).toHaveCount(3);
  await expect(inner.locator('page-header, control-panel')).toHaveCount(0);
});

test('a slider of the frame simulates anew, and leads to the whole page with its setting', async ({ page }) => {
  await open(page, `#v=4&R=1.2&embed=running_waiting;${CV}`);
  const before = await digest(page);
  await drawn(page, 'running_waiting', 50);
  await setNumber(page, CV, 4);
  await expect.poll(() => digest(page)).not.toBe(before);
  expect(await link(page)).toContain('embed=running_waiting');
  expect(await violations(page)).toEqual([]);
  const href = await page.locator('[data-action=whole]').getAttribute('href') ?? '';
  expect(href).toContain('cv=4');
  expect(href).not.toContain('embed');
  await page.setViewportSize({ width: 320, height: 480 });
  await expect(control(page, CV)).toBeVisible();
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
});

test('a screen of a lesson is shown alone, in a frame of another page', ONLY_WHOLE, async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await open(page, '#v=4&tab=learn.burstiness.2');
  await page.locator('[data-lesson=burstiness] [data-action=embed]').click();
  await expect(page.locator('[data-notice=embed_copied]')).toBeVisible();
  const frame = await page.evaluate(() => navigator.clipboard.readText());
  await page.setContent(`<!doctype html><title>A course</title>${frame}`);
  const inner = page.frameLocator('iframe');
  await expect(inner.locator('[data-screen="2"]')).toBeVisible({ timeout: 30_000 });
  await expect(inner.locator('page-header, control-panel, [data-action=lessons]:visible')).toHaveCount(0);
  await inner.locator('[data-action=next]').click();
  await expect(inner.locator('[data-screen="3"]')).toBeVisible();
  expect(await inner.locator('[data-action=whole]').getAttribute('href')).toContain('tab=learn.burstiness.3');
});

test('a frame whose chart or control there is none says so', async ({ page }) => {
  await open(page, '#v=4&embed=profit;workload.luck');
  await expect(page.locator('[data-unknown=profit]')).toBeVisible();
  await expect(page.locator('[data-unknown="workload.luck"]')).toBeVisible();
});
