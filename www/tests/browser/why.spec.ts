import { expect, open, test } from './page.js';

test('the time of all requests by cause, who delayed whom, and the way to a request', async ({ page }) => {
  await open(page, '#v=1&R=4');
  const digest = await page.locator('html').getAttribute('data-digest');
  const fold = page.locator('[data-fold=why]');
  await fold.locator('> summary').click();
  const causes = fold.locator('.causes-table tbody tr');
  await expect(causes.first()).toBeVisible();
  await expect(page.locator('html')).toHaveAttribute('data-digest', digest ?? '');
  const delays = await causes.evaluateAll((rows) => rows
    .filter((row) => row.getAttribute('data-cause')?.startsWith('own_') === false)
    .reduce((total, row) => total + Number(row.getAttribute('data-value')), 0));
  for (const by of ['user', 'adapter']) {
    await fold.locator('select[name=why-by]').selectOption(by);
    const all = await fold.locator('.matrix tbody tr td:last-child').evaluateAll((cells) => cells.reduce((total, cell) => total + Number(cell.getAttribute('data-value')), 0));
    expect(all).toBeCloseTo(delays, 3);
  }
  await fold.locator('.matrix tbody th button').first().click();
  await fold.locator('.most-delayed button').first().click();
  const card = page.locator('.request-card');
  await expect(card.locator('.delays li').first()).toContainText(/\d/);
  // The requests with the largest parts of a delay are named, each with the way to its card.
  const holder = card.locator('.holders [data-request]').first();
  await expect(holder).toHaveText(/\d.*\d.*%/u);
  const id = await holder.getAttribute('data-request') ?? '';
  await holder.click();
  await expect(card.locator('h3')).toHaveText(`Request ${id}`);
  await expect(card.locator('.delays li').first()).toContainText(/\d/);
  await card.locator('.delays .at').first().click();
  await expect(page).toHaveURL(/zoom=/);
});
