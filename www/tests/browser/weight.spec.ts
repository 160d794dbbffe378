// What the check on the page's weight counts is what the page fetches until it is ready.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, open, test } from './page.js';

const MANIFEST = join(import.meta.dirname, '../../../dist/files.json');
/** A browser may fetch them when it likes, or not at all. */
const OF_THE_BROWSER = ['icons/servescope.svg', 'manifest.webmanifest'];

test('the files that the build says are fetched until the page is ready are those that are', async ({ page, baseURL }) => {
  const { start } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as { start: string[] };
  let isReady = false;
  const fetched = new Set<string>();
  page.on('request', (request) => { if (!isReady) fetched.add(request.url().slice((baseURL ?? '').length)); });
  // What is fetched once the page is ready does not count, however soon after.
  await page.exposeFunction('tellReady', () => { isReady = true; });
  await page.addInitScript(() => {
    const printed = new MutationObserver(() => {
      if (document.documentElement.dataset['state'] !== 'ready') return;
      printed.disconnect();
      void (window as unknown as { tellReady: () => Promise<void> }).tellReady();
    });
    printed.observe(document, { subtree: true, attributes: true, attributeFilter: ['data-state'] });
  });
  await open(page, '');
  const counted = start.filter((name) => !OF_THE_BROWSER.includes(name));
  expect([...fetched].filter((name) => !OF_THE_BROWSER.includes(name)).sort()).toEqual(counted.sort());
});
