// Lighthouse on the built page: each tab must reach the least score in accessibility and best practices; the performance of
// the first screen, as on a desktop, is printed as the median of several loads. Machines differ, so it has no bound.
import * as chromeLauncher from 'chrome-launcher';
import lighthouse, { desktopConfig } from 'lighthouse';
import { serve } from '../bench/serve.mjs';

const TABS = ['explore', 'learn', 'plan', 'validation'];
const LEAST = 95;
const LOADS = 5;

const host = await serve();
const chrome = await chromeLauncher.launch({
  chromePath: process.env.SERVESCOPE_CHROMIUM ?? '/usr/bin/chromium',
  chromeFlags: ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'],
});

async function scores(tab, onlyCategories) {
  const options = { port: chrome.port, logLevel: 'error', onlyCategories };
  const { lhr } = await lighthouse(`${host.address}#tab=${tab}`, options, desktopConfig);
  if (lhr.runtimeError !== undefined) throw new Error(`${tab}: ${lhr.runtimeError.message}`);
  return lhr;
}

const points = (lhr, category) => Math.round(100 * (lhr.categories[category].score ?? 0));

const misses = [];
try {
  for (const tab of TABS) {
    const lhr = await scores(tab, ['accessibility', 'best-practices']);
    const found = ['accessibility', 'best-practices'].map((category) => [category, points(lhr, category)]);
    console.log(`${tab}: ${found.map(([category, score]) => `${category} ${score}`).join(', ')}`);
    for (const [category, score] of found) {
      if (score >= LEAST) continue;
      const failed = lhr.categories[category].auditRefs.filter(({ id, weight }) => weight > 0 && (lhr.audits[id].score ?? 1) < 1);
      misses.push(`${tab}: ${category} ${score} is below ${LEAST}: ${failed.map(({ id }) => id).join(', ')}`);
    }
  }
  const performance = [];
  for (let load = 0; load < LOADS; load += 1) performance.push(points(await scores('explore', ['performance']), 'performance'));
  performance.sort((one, other) => one - other);
  console.log(`performance on a desktop, median of ${LOADS} loads: ${performance[Math.floor(LOADS / 2)]} (${performance[0]} to ${performance.at(-1)})`);
} finally {
  chrome.kill();
  host.close();
}
for (const miss of misses) console.error(miss);
process.exitCode = misses.length === 0 ? 0 : 1;
