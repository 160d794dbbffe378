import { digest, expect, another, open, test } from './page.js';

test('every preset runs, without problems, and differs from the others', async ({ page }) => {
  test.slow();
  await open(page);
  await page.locator('.menu.presets > summary').click();
  const plain = await digest(page);
  const names = await page.locator('button.preset').evaluateAll((all) => all.map((one) => one.getAttribute('data-preset') ?? ''));
  expect(names.length).toBe(20);
  const seen = new Set<string>();
  for (const name of names) {
    await another(page, '#v=3');
    expect(await digest(page)).toBe(plain);
    await page.locator('.menu.presets').evaluate((menu: HTMLDetailsElement) => { menu.open = true; });
    await page.locator(`button.preset[data-preset="${name}"]`).click();
    seen.add(await digest(page));
    await expect(page.locator('.control-error:visible')).toHaveCount(0);
    await expect(page.locator('.notice.error')).toHaveCount(0);
    await expect(page.locator('html')).toHaveAttribute('data-state', 'ready');
    await expect(page.locator('.menu.presets > summary span')).toHaveAttribute('data-preset', name);
  }
  expect(seen.size).toBe(names.length);
});

test('a preset that was changed says so', async ({ page }) => {
  await open(page);
  await page.locator('[data-parameter="workload.rate_rps"] input[type=range]').focus();
  await page.keyboard.press('PageUp');
  await expect(page.locator('.menu.presets > summary span')).toHaveAttribute('data-modified', 'true');
});
