// What the browser tests have in common: opening the page, waiting for an answer, reading it, watching for trouble.
import { readFile } from 'node:fs/promises';
import { AxeBuilder } from '@axe-core/playwright';
import { expect, test as base, type Download, type Locator, type Page } from '@playwright/test';

export const READY_MS = 20_000;

/** Everything at its full size, as before a release; otherwise what is also held elsewhere is sampled. */
export const WHOLE = Boolean(process.env['SERVESCOPE_WHOLE']);

/** For tests whose outcome hangs on how long something takes: they run one at a time. */
export const ALONE = { tag: '@alone' };

/** A test of the whole check only: another one of the quick check goes the same way with other values. */
export const ONLY_WHOLE = { tag: '@whole' };

/** A trace of three requests, as Vidur writes them. */
export const SMALL = 'arrived_at,num_prefill_tokens,num_decode_tokens\n0.1,100,20\n0.5,200,30\n1.2,50,10\n';

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

/** Takes what the console says of files that the test has kept from the page: at least so many. Of a worker's it says nothing. */
export async function missed(trouble: string[], least = 0): Promise<void> {
  const isMissed = (line: string): boolean => /^Failed to load resource: net::ERR_FAILED/.test(line);
  await expect.poll(() => trouble.filter(isMissed).length).toBeGreaterThanOrEqual(least);
  const others = trouble.filter((line) => !isMissed(line));
  trouble.splice(0, trouble.length, ...others);
}

/** Loads the page. */
/** S-LoRA's server under steady traffic, as links before version 5 mean it: most tests are of what does not depend on the default. */
export const STEADY = '#v=4';

export async function open(page: Page, hash = STEADY): Promise<void> {
  // A change of the hash alone would not load the page again.
  if (page.url() !== 'about:blank') await page.goto('about:blank');
  await page.goto(`./${hash}`);
  await settled(page);
}

/** Takes over another link in the page that is open: quicker than loading it, and what is unfolded stays unfolded. */
export async function goTo(page: Page, hash: string): Promise<void> {
  await page.evaluate((next) => new Promise((done) => {
    // The page's own listener came first.
    addEventListener('hashchange', done, { once: true });
    // It looks only at a link that differs from its own.
    location.hash = location.hash === next ? `${next}&lang=en` : next;
  }), hash);
  await settled(page);
}

/** The next case of a test: in the page that is open, or, before a release, in one of its own. */
export const another = WHOLE ? open : goTo;

/** Takes away what was said. */
export async function dismiss(page: Page): Promise<void> {
  const notices = page.locator('.notices .notice');
  while (await notices.count() > 0) await notices.first().locator('button').last().click();
}

/**
 * Waits until nothing runs any more, and what was clicked has been heard of and fetched. A change that was made before starts its run
 * within the event that makes it, but for typed values, which the page reads after a pause.
 */
export async function settled(page: Page): Promise<void> {
  await page.waitForFunction(() => {
    const { state, due = '' } = document.documentElement.dataset;
    return (state === 'ready' || state === 'failed') && !/link|fetch|run/.test(due);
  }, undefined, { timeout: READY_MS });
}

/** Waits until the page has nothing due: from then on it changes only after an action. It takes the page's pauses and its idle work. */
export async function atRest(page: Page): Promise<void> {
  await expect(page.locator('html')).toHaveAttribute('data-busy', '0', { timeout: 40_000 });
}

/** Lets the page draw this many frames. */
export async function frames(page: Page, count: number): Promise<void> {
  await page.evaluate(async (all) => {
    for (let frame = 0; frame < all; frame += 1) await new Promise(requestAnimationFrame);
  }, count);
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

/** What the address holds once the page has written it, which it does in a pause of 300 ms: "Copy link" does it at once. */
export async function link(page: Page): Promise<string> {
  return page.evaluate(() => {
    // A tab that is closed writes what is due.
    dispatchEvent(new Event('pagehide'));
    return location.hash;
  });
}

/** What was drawn on a chart's canvas: how many colours, and how many dark or coloured pixels. */
async function ink(canvas: Locator): Promise<{ colours: number; dark: number }> {
  return canvas.evaluate((element: HTMLCanvasElement) => {
    const pixels = element.getContext('2d')?.getImageData(0, 0, element.width, element.height).data ?? new Uint8ClampedArray();
    let dark = 0;
    for (let at = 0; at < pixels.length; at += 4) if ((pixels[at + 3] ?? 0) > 0 && (pixels[at] ?? 255) < 120) dark += 1;
    return { colours: new Set(new Uint32Array(pixels.buffer)).size, dark };
  });
}

/** Opens the sections in which a chart is folded away. */
export async function unfold(page: Page, name: string): Promise<void> {
  await page.locator(`[data-chart="${name}"]`).evaluate((chart) => {
    for (let folded = chart.closest('details'); folded !== null; folded = folded.parentElement?.closest('details') ?? null) folded.open = true;
  });
}

/** Brings a chart into sight and waits until it is drawn, with at least so many dark or coloured pixels. */
export async function drawn(page: Page, name: string, dark = 0): Promise<void> {
  const chart = page.locator(`[data-chart="${name}"]`);
  await unfold(page, name);
  await chart.locator('.plot').scrollIntoViewIfNeeded();
  await expect(chart.locator('.empty'), name).toBeHidden();
  await expect(async () => {
    const found = await ink(chart.locator('canvas'));
    expect(found.colours, name).toBeGreaterThan(4);
    expect(found.dark, name).toBeGreaterThanOrEqual(dark);
  }).toPass({ timeout: 15_000, intervals: [20, 50, 100, 200] });
}

/** Every rule, for the first look at a view; for the same view in other colours or another language what these change. */
export type Rules = 'all' | 'colours' | 'words';

/** What axe finds: what is serious, or everything. `within`: a part of the page whose rest was looked at before. */
export async function violations(page: Page, { rules = 'all', within, least = 'serious' }: { rules?: Rules; within?: string; least?: 'serious' | 'minor' } = {}): Promise<string[]> {
  test.slow();
  // A target that is half under the sticky numbers is not too small: it scrolls out of there.
  if (within === undefined) await page.evaluate(() => { window.scrollTo(0, 0); });
  // What passes is not described: that would take longer than to find what does not.
  // In the page itself, which has no frame of another host: to carry partial results into a second page takes longer than to
  // find them.
  let axe = new AxeBuilder({ page }).setLegacyMode(true).options({ resultTypes: ['violations'], selectors: false });
  if (within !== undefined) axe = axe.include(within);
  if (rules === 'colours' && !WHOLE) axe = axe.withRules(['color-contrast']);
  else axe = axe.withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']);
  if (rules === 'words' && !WHOLE) axe = axe.disableRules(['color-contrast']);
  const { violations: found } = await axe.analyze();
  return found.filter(({ impact }) => least === 'minor' || impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 200)).slice(0, 5).join(' | ')}`);
}

/** The file that is saved by what is done. */
export async function saved(page: Page, act: () => Promise<void>): Promise<{ name: string; bytes: Buffer; download: Download }> {
  const downloaded = page.waitForEvent('download');
  await act();
  const download = await downloaded;
  return { name: download.suggestedFilename(), bytes: await readFile(await download.path()), download };
}

/** Chooses an item of the menu for sharing. */
export async function shared(page: Page, item: string): Promise<void> {
  await page.locator('.menu.share > button').click();
  await page.locator(`.menu.share [data-item="${item}"]`).click();
}

/** The text of the file that an item of that menu saves. */
export async function exported(page: Page, item: string): Promise<string> {
  const { bytes } = await saved(page, () => shared(page, item));
  return bytes.toString();
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
