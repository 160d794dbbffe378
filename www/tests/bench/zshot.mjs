import { chromium } from '@playwright/test';
import { serve } from './serve.mjs';
const [out, hash, width='1440', scheme='light', lang='en-US'] = process.argv.slice(2);
const server = await serve();
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium' });
const page = await (await browser.newContext({ viewport: { width: +width, height: 900 }, colorScheme: scheme, locale: lang })).newPage();
const t0 = Date.now();
await page.goto(`${server.address ?? server.url}#${hash}`);
await page.waitForFunction(() => document.documentElement.dataset.state === 'ready');
console.log('ready', Date.now() - t0);
await page.waitForTimeout(3000);
const chart = page.locator('[data-chart=hits_by_capacity]').first();
if (await chart.count()) { await chart.scrollIntoViewIfNeeded(); await page.waitForTimeout(800); }
await page.screenshot({ path: out });
await browser.close(); server.close?.();
process.exit(0);
