// The documentation beside the page: reached from the help, whole, readable, in both themes, and there without a network.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { dismiss, expect, ONLY_WHOLE, open, test, violations, WHOLE } from './page.js';

const PAGES = readdirSync(join(import.meta.dirname, '../../../dist/docs')).filter((name) => name.endsWith('.html')).sort();
/** Text only, text with wide tables, and the largest page. */
const SOME = ['index.html', 'what-if.html', 'parameters.html'];
/** For the second theme, which differs by its colours: one style sheet has those of all pages, and this page has tables, code and links. */
const ONE = ['what-if.html'];

test('the help leads to the documentation, and the documentation back', async ({ page }) => {
  await open(page);
  await dismiss(page);
  await page.keyboard.press('?');
  await page.locator('help-dialog [data-action=documentation]').click();
  await expect(page).toHaveURL(/\/docs\/index\.html$/);
  await expect(page.locator('h1')).toHaveText('Documentation');
  await page.locator('nav .wide-only a', { hasText: 'Parameters' }).click();
  await expect(page.locator('main code', { hasText: /^workload\.arrivals\.cv$/ }).first()).toBeVisible();
  await page.locator('header .home').click();
  await expect(page.locator('html')).toHaveAttribute('data-state', 'ready');
});

test('every link and anchor of the documentation is there', async ({ page, request }) => {
  const anchors = new Map<string, Set<string>>();
  const wanted: [string, string][] = [];
  for (const name of PAGES) {
    await page.goto(`./docs/${name}`);
    const found = await page.evaluate(() => ({
      ids: [...document.querySelectorAll('[id]')].map(({ id }) => id),
      links: [...document.querySelectorAll('a')].map(({ href }) => href),
    }));
    anchors.set(page.url(), new Set(found.ids));
    for (const link of found.links) if (new URL(link).host === new URL(page.url()).host) wanted.push([page.url(), link]);
  }
  expect(PAGES.length).toBeGreaterThan(20);
  const others = new Set<string>();
  for (const [from, link] of wanted) {
    const [address = '', anchor = ''] = link.split('#');
    const ids = anchors.get(address);
    if (ids === undefined) others.add(address);
    else expect(anchor === '' || ids.has(decodeURIComponent(anchor)), `${from} -> ${link}`).toBe(true);
  }
  for (const address of others) expect((await request.get(address)).ok(), address).toBe(true);
});

for (const theme of ['light', 'dark'] as const) {
  test(`the documentation is readable on a telephone, ${theme}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: theme });
    for (const name of WHOLE ? PAGES : theme === 'dark' ? ONE : SOME) {
      for (const width of [390, 320]) {
        await page.setViewportSize({ width, height: 800 });
        await page.goto(`./docs/${name}`);
        await expect(page.locator('html')).toHaveAttribute('data-theme', theme);
        expect(await page.evaluate(() => document.documentElement.scrollWidth), `${name} at ${String(width)}`).toBeLessThanOrEqual(width);
      }
      // All rules in one theme; the other differs by its colours.
      expect(await violations(page, { least: 'minor', rules: theme === 'dark' ? 'colours' : 'all' }), name).toEqual([]);
    }
  });
}

test('the theme of the page is that of the documentation', ONLY_WHOLE, async ({ page }) => {
  await open(page);
  const before = await page.locator('html').getAttribute('data-theme');
  while (await page.locator('html').getAttribute('data-theme') === before) await page.locator('[data-action=theme]').click();
  const chosen = await page.locator('html').getAttribute('data-theme');
  await page.goto('./docs/index.html');
  await expect(page.locator('html')).toHaveAttribute('data-theme', chosen ?? '');
});
