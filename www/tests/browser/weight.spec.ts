// What the check on the page's weight counts is what the page fetches until it is ready.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, open, test } from './page.js';

const MANIFEST = join(import.meta.dirname, '../../../dist/files.json');
/** A browser may fetch them when it likes, or not at all. */
const OF_THE_BROWSER = ['icons/servescope.svg', 'manifest.webmanifest'];

test('the files that the build says are fetched until the page is ready are those that are', async ({ page, baseURL }) => {
  const { start } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as { start: string[] };
  const fetched = new Set<string>();
  page.on('request', (request) => { fetched.add(request.url().slice((baseURL ?? '').length)); });
  await open(page);
  const counted = start.filter((name) => !OF_THE_BROWSER.includes(name));
  expect([...fetched].filter((name) => !OF_THE_BROWSER.includes(name)).sort()).toEqual(counted.sort());
});
