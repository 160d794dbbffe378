import { chromium } from '@playwright/test';
import { serve } from './serve.mjs';
const served = await serve(); const url = served.origin ?? served.address ?? served.url; const close = () => {}; console.log(Object.keys(served), url);
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium' });
for (const [w, h, scheme, hash, name, wait] of JSON.parse(process.argv[2])) {
  const page = await browser.newPage({ viewport: { width: w, height: h }, colorScheme: scheme });
  const t = Date.now();
  await page.goto(`${url}${hash}`);
  await page.waitForSelector('html[data-state=ready]', { timeout: 30000 });
  console.log(name, 'ready', Date.now() - t);
  await page.waitForTimeout(wait);
  await page.screenshot({ path: `/tmp/shot-${name}.png`, fullPage: name.includes('full') });
  await page.close();
}
await browser.close(); close?.(); process.exit(0);
