import { readFile } from 'node:fs/promises';
import { control, digest, dropFile, expect, link, open, settled, test } from './page.js';

const SMALL = 'arrived_at,num_prefill_tokens,num_decode_tokens\n0.1,100,20\n0.5,200,30\n1.2,50,10\n';

test('the workload tab is part of the address', async ({ page }) => {
  await open(page);
  await page.locator('[data-tab=workload]').click();
  await expect(page.locator('studio-page')).toBeVisible();
  await expect(page.locator('[data-chart=traffic_rate] canvas')).toBeVisible();
  expect(await link(page)).toContain('tab=workload');
  await open(page, await link(page));
  await expect(page.locator('[data-chart=traffic_rate] canvas')).toBeVisible();
  await page.locator('[data-tab=service]').click();
  await expect(page.locator('[data-chart=gaps] canvas')).toBeVisible();
});

test('a curve drawn with the pointer is what arrives', async ({ page }) => {
  await open(page, '#v=1&tab=workload');
  const before = await digest(page);
  const drawing = page.locator('.drawing');
  const box = await drawing.boundingBox();
  if (box === null) throw new Error('nothing to draw on');
  await page.mouse.move(box.x + 0.1 * box.width, box.y + 0.9 * box.height);
  await page.mouse.down();
  await page.mouse.move(box.x + 0.5 * box.width, box.y + 0.1 * box.height, { steps: 8 });
  await page.mouse.move(box.x + 0.9 * box.width, box.y + 0.9 * box.height, { steps: 8 });
  await page.mouse.up();
  await expect.poll(() => digest(page)).not.toBe(before);
  expect(await link(page)).toMatch(/ck=points&.*pts=/);
  const points = (await control(page, 'workload.curve.points').locator('input.value').inputValue()).split(',').map(Number);
  expect(points.length).toBe(82);
  const heights = points.filter((_, index) => index % 2 === 1);
  expect(Math.max(...heights)).toBeGreaterThan(3);
  expect(heights.indexOf(Math.max(...heights))).toBeGreaterThan(15);
  expect(heights.indexOf(Math.max(...heights))).toBeLessThan(25);
  const drawn = await digest(page);
  await drawing.focus();
  await page.keyboard.press('ArrowUp');
  await expect.poll(() => digest(page)).not.toBe(drawn);
  await page.locator('.drawing-foot button').click();
  await expect.poll(() => digest(page)).toBe(before);
});

test('each export is read again', async ({ page }) => {
  await open(page, '#v=1&D=60&tab=workload');
  await settled(page);
  const buttons = page.locator('[data-export]');
  await expect(buttons.first()).toBeVisible();
  const formats = await buttons.evaluateAll((all) => all.map((button) => button.getAttribute('data-export') ?? ''));
  expect(formats.length).toBeGreaterThanOrEqual(10);
  for (const format of formats) {
    const saved = page.waitForEvent('download');
    await page.locator(`[data-export=${format}]`).click();
    const download = await saved;
    const bytes = await readFile(await download.path());
    await dropFile(page, download.suggestedFilename(), bytes);
    await expect(page.locator('source-section'), format).toContainText(new RegExp(`\\(${format}\\): \\d+ requests`));
    await page.locator('source-section .choices button', { hasText: 'Back to generated' }).click();
    await expect(page.locator('source-section')).toContainText('The settings generate');
  }
});

test('reading a file can be cancelled', async ({ page }) => {
  await open(page, '#v=1&tab=workload');
  await dropFile(page, 'small.csv', Buffer.from(SMALL));
  await expect(page.locator('source-section')).toContainText('3 requests');
  const rows = Array.from({ length: 400_000 }, (_, index) => `${String(index / 100)},100,20`);
  await page.evaluate((text) => {
    const held = new DataTransfer();
    held.items.add(new File([text], 'long.csv'));
    document.querySelector('main')?.dispatchEvent(new DragEvent('drop', { dataTransfer: held, bubbles: true, cancelable: true }));
  }, `arrived_at,num_prefill_tokens,num_decode_tokens\n${rows.join('\n')}\n`);
  await page.locator('source-section .loading button').click();
  await expect(page.locator('.notice')).toContainText(['long.csv was not read to its end.']);
  await expect(page.locator('source-section')).toContainText('small.csv');
  // The studio was ended with the reading, and is given its file again.
  await page.locator('[data-export=mooncake]').click();
  await expect(page.locator('.notice.error')).toHaveCount(0);
});
