// The copy of the page in the browser, and new versions, on a host that the tests change.
import type { BrowserContext, Page } from '@playwright/test';
import { startHost, type Host } from './host.js';
import { digest, expect, goTo, settled, test as base } from './page.js';

const test = base.extend<{ host: Host }>({
  host: async ({ trouble }, use) => {
    const host = await startHost();
    await use(host);
    await host.close();
    // What the network refused stands in the console, and is what these tests are about.
    const others = trouble.filter((line) => !/^Failed to load resource/.test(line));
    trouble.splice(0, trouble.length, ...others);
  },
});

async function visit(page: Page, host: Host): Promise<void> {
  await page.goto(host.url);
  await settled(page);
}

const build = (page: Page): Promise<string | null> => page.locator('meta[name=servescope-build]').getAttribute('content');

/** The builds that there is a whole copy of. */
async function copies(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const scope = new URL('./', location.href).href;
    const names = (await caches.keys()).filter((name) => name.startsWith(`servescope ${scope} `));
    const whole = await Promise.all(names.map(async (name) => (await (await caches.open(name)).match(scope)) !== undefined));
    return names.filter((_, place) => whole[place]).map((name) => name.split(' ').at(-1) ?? '');
  });
}

async function kept(page: Page, count = 1): Promise<void> {
  await expect.poll(() => copies(page), { timeout: 15_000 }).toHaveLength(count);
}

/** Reloads, and shows how the page comes up. */
async function reloaded(page: Page): Promise<string> {
  await page.reload();
  return digest(page);
}

test('the page works offline after the first visit, parts that were never looked at too', async ({ page, context, host }) => {
  await visit(page, host);
  const before = await digest(page);
  await kept(page);
  await page.keyboard.press('?');
  await expect(page.locator('.offline')).toHaveAttribute('data-offline', 'kept');
  await context.setOffline(true);
  expect(await reloaded(page)).toBe(before);
  await page.locator('.traffic-source > summary').click();
  await expect(page.locator('[data-chart=traffic_rate] canvas')).toBeVisible();
  await page.locator('[data-tab=validation]').click();
  await expect(page.locator('validation-page')).toHaveAttribute('data-state', 'ready', { timeout: 20_000 });
  await context.setOffline(false);
});

test('measured times that a run had are there offline, and those of another GPU are said to be missing', async ({ page, context, host }) => {
  const timed = (gpu: string): string => `#v=2&sched=vllm_v1&cost=profile&mdl=llama-2-7b&n=0&D=60&gpu=${gpu}`;
  await page.goto(`${host.url}${timed('a100_80_sxm')}`);
  const before = await digest(page);
  await kept(page);
  await context.setOffline(true);
  expect(await reloaded(page)).toBe(before);
  await goTo(page, timed('h100_sxm'));
  await expect(page.locator('html')).toHaveAttribute('data-state', 'failed');
  await expect(page.locator('[data-parameter="cost.kind"] .control-error')).toHaveAttribute('data-code', 'needs_table');
  await context.setOffline(false);
  // The browser tells the page that there is a network again.
  await expect(page.locator('html')).toHaveAttribute('data-state', 'ready');
  await expect.poll(() => digest(page)).not.toBe(before);
});

test('the copy stands in for errors of the host, for a network that wants a sign-in, and for one that never answers', async ({ page, host }) => {
  await visit(page, host);
  const before = await digest(page);
  await kept(page);
  host.answer({ status: 500, body: 'broken' });
  expect(await reloaded(page)).toBe(before);
  host.answer({ status: 200, body: '<form>Sign in to the hotel</form>' });
  expect(await reloaded(page)).toBe(before);
  host.answer('never');
  expect(await reloaded(page)).toBe(before);
});

test('a reader who saves data fetches no more than was looked at', async ({ page, context, host }) => {
  await page.addInitScript(() => { Object.defineProperty(navigator, 'connection', { value: { saveData: true } }); });
  await visit(page, host);
  const before = await digest(page);
  await kept(page);
  const { files } = await (await page.request.get(`${host.url}files.json`)).json() as { files: Record<string, string> };
  const later = Object.keys(files).filter((name) => /^assets\/studio_bg/.test(name));
  expect(later).toHaveLength(1);
  for (const name of later) expect(host.asked(name), name).toBe(0);
  await context.setOffline(true);
  expect(await reloaded(page)).toBe(before);
  await context.setOffline(false);
});

test('a version that came during the visit is offered, and no copy is mixed of two', async ({ page, host }) => {
  // Before the page can begin its copy, however slow the test is.
  host.onceServed('index.html', () => { host.deploy('feedc0de'); });
  await page.goto(`${host.url}#v=1&R=3`);
  const first = await build(page);
  await settled(page);
  const notice = page.locator('[data-notice=newer]');
  await expect(notice).toBeVisible();
  expect(await copies(page)).toEqual([]);
  await notice.locator('.act').click();
  await expect.poll(() => build(page)).toBe('feedc0de');
  expect(first).not.toBe('feedc0de');
  await settled(page);
  expect(new URL(page.url()).hash).toContain('R=3');
  await expect.poll(() => copies(page)).toEqual(['feedc0de']);
});

async function second(context: BrowserContext, host: Host): Promise<Page> {
  const tab = await context.newPage();
  await visit(tab, host);
  return tab;
}

test('an old tab keeps its parts beside a new version, and is offered that', async ({ page, context, host }) => {
  await visit(page, host);
  await kept(page);
  const old = await build(page);
  host.deploy('feedc0de');
  host.remove(/^assets\/(studio|capacity)-page/);
  const tab = await second(context, host);
  await expect.poll(async () => [...await copies(tab)].sort()).toEqual([old, 'feedc0de'].sort());
  await expect(page.locator('[data-notice=newer]')).toBeVisible();
  // Gone from the host, and never looked at before.
  await page.locator('.traffic-source > summary').click();
  await expect(page.locator('[data-chart=traffic_rate] canvas')).toBeVisible();
});

test('a copy that cannot be made is stated in the help', async ({ page, host }) => {
  host.remove(/^assets\/workload-page/);
  await visit(page, host);
  await page.keyboard.press('?');
  const line = page.locator('.offline');
  await expect(line).toHaveAttribute('data-offline', 'failed');
  await expect(line).toContainText('workload-page');
  expect(await copies(page)).toEqual([]);
});
