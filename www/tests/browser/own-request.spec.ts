// A request of the reader's own: sent into the run, followed, explained, in the link and in the terminal.
import { another, digest, expect, link, ONLY_WHOLE, open, settled, test, violations } from './page.js';
import { terminal } from './terminal.js';

test('the search leads to the form of such a request, and the side column does not repeat it', async ({ page }) => {
  await open(page, '#v=4&D=120&tab=plan');
  await expect(page.locator('aside [data-parameter^="workload.extra_request."]')).toHaveCount(0);
  // Typed at once, while the search is still fetched: no letter is lost.
  await page.keyboard.press('/');
  await page.keyboard.type('output of your request');
  await page.locator('search-dialog [data-id="workload.extra_request.output_tokens"]').click();
  const field = page.locator('own-request input[name=output_tokens]');
  await expect(field).toBeInViewport();
  await expect(field).toBeFocused();
});

test('a request that the reader sends joins the run, and its card opens', async ({ page }) => {
  await open(page, '#v=4&D=120');
  const without = await digest(page);
  await page.locator('[data-fold=own] > summary').click();
  const form = page.locator('own-request');
  await form.locator('input[name=input_tokens]').fill('2000');
  await form.locator('input[name=time_s]').fill('60');
  await form.locator('[data-action=send]').click();
  const printed = form.locator('[data-own]');
  await expect(printed).toBeVisible();
  const sent = await digest(page);
  expect(sent).not.toBe(without);
  await expect(page.locator('request-card h3')).toContainText(await printed.getAttribute('data-own') ?? 'none');
  await expect(page.locator('request-card')).toContainText('2,000');
  // The picture stands at its arrival where nothing may move.
  await form.locator('[data-action=follow]').click();
  await expect(page.locator('run-hero .hero-time')).toHaveAttribute('data-time', '60');
  const hash = await link(page);
  expect(hash).toContain('xi=2000');
  const run = terminal();
  if (run !== null) expect(run('simulate', '--link', page.url(), '--json')).toMatchObject({ digest: sent, extra_request: Number(await printed.getAttribute('data-own')) });
  await another(page, hash);
  await expect(page.locator('own-request [data-own]')).toBeVisible();
  expect(await digest(page)).toBe(sent);
  await page.locator('own-request [data-action=take-back]').click();
  await settled(page);
  await expect.poll(() => digest(page)).toBe(without);
});

test('what cannot be sent is said, on a phone and in Chinese too', ONLY_WHOLE, async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await open(page, '#v=4&D=60&xi=5000&lang=zh');
  const form = page.locator('own-request');
  // Longer than the service accepts: it is refused, and the reader reads why.
  await expect(form.locator('[data-own]')).toBeVisible();
  await form.locator('input[name=user]').fill('many');
  await form.locator('[data-action=send]').click();
  await expect(form.locator('.notice.error')).toHaveAttribute('data-code', 'not_a_number');
  await form.locator('input[name=user]').fill('-1');
  await form.locator('[data-action=send]').click();
  await expect(form.locator('.notice.error')).toHaveAttribute('data-code', 'out_of_range');
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  expect(await violations(page, { rules: 'words', within: 'own-request' })).toEqual([]);
});
