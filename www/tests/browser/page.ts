// What the browser tests have in common: opening the page, waiting for an answer, reading it, watching for trouble.
import { expect, test as base, type Locator, type Page } from '@playwright/test';

export const READY_MS = 20_000;

/** Every test fails on an error in the console or an exception in the page. */
export const test = base.extend<{ trouble: string[] }>({
  trouble: [async ({ page }, use) => {
    const trouble: string[] = [];
    page.on('console', (message) => { if (message.type() === 'error') trouble.push(message.text()); });
    page.on('pageerror', (error) => trouble.push(String(error)));
    await use(trouble);
    expect(trouble).toEqual([]);
  }, { auto: true }],
});

export { expect };

export async function open(page: Page, hash = ''): Promise<void> {
  // A change of the hash alone would not load the page again.
  await page.goto('about:blank');
  await page.goto(`./${hash}`);
  await settled(page);
}

/** Waits until nothing runs any more: the state is not "running" now nor a moment later. */
export async function settled(page: Page): Promise<void> {
  await page.waitForFunction(() => {
    const { state } = document.documentElement.dataset;
    return state === 'ready' || state === 'failed';
  }, undefined, { timeout: READY_MS });
}

export async function digest(page: Page): Promise<string> {
  await settled(page);
  const value = await page.locator('html').getAttribute('data-digest');
  expect(value).toMatch(/^[0-9a-f]{16}$/);
  return value ?? '';
}

export function control(page: Page, id: string): Locator {
  return page.locator(`[data-parameter="${id}"]`);
}

export function numberBox(page: Page, id: string): Locator {
  return control(page, id).locator('input.value');
}

/** Opens every group, so that each control can be reached. */
export async function openGroups(page: Page): Promise<void> {
  await page.evaluate(() => {
    for (const group of document.querySelectorAll<HTMLDetailsElement>('details.group, details.idle')) group.open = true;
  });
}

export async function setNumber(page: Page, id: string, value: number | string): Promise<void> {
  const box = numberBox(page, id);
  await box.fill(String(value));
  await box.press('Enter');
  await settled(page);
}

export async function metric(page: Page, id: string): Promise<number> {
  await settled(page);
  const value = await page.locator(`[data-metric="${id}"]`).getAttribute('data-value');
  return value === null || value === '' ? NaN : Number(value);
}

/** The link as it is now; the page writes it after a pause. */
export async function link(page: Page): Promise<string> {
  await page.waitForTimeout(400);
  return page.evaluate(() => location.hash);
}

/** Draws a brush over a part of a chart. */
export async function brush(page: Page, plot: Locator): Promise<void> {
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  if (box === null) throw new Error('no chart');
  await page.mouse.move(box.x + 300, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + 360, box.y + 60);
  await page.mouse.move(box.x + 500, box.y + 60);
  await page.mouse.up();
}

export async function dropFile(page: Page, name: string, bytes: Buffer): Promise<void> {
  const transfer = await page.evaluateHandle(({ name: fileName, base64 }) => {
    const held = new DataTransfer();
    const content = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    held.items.add(new File([content], fileName));
    return held;
  }, { name, base64: bytes.toString('base64') });
  await page.dispatchEvent('main', 'dragover', { dataTransfer: transfer });
  await page.dispatchEvent('main', 'drop', { dataTransfer: transfer });
}

/** Generator of the tests' own chances: mulberry32. */
export function chances(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
