// The way in: tabs and presets in the browser's history, the sections of the controls, and settings that make themselves apply.
import { control, digest, dismiss, expect, link, open, setNumber, settled, test } from './page.js';

const current = (name: string): string => `page-header [data-tab=${name}][aria-current=page]`;

test('Back goes back over tabs and presets, and former names of tabs are read', async ({ page }) => {
  await open(page);
  const first = await digest(page);
  await page.locator('page-header [data-tab=learn]').click();
  await expect(page.locator('[data-preset-group]')).toHaveCount(5);
  await page.locator('[data-preset-group=fairness] [data-preset=greedy_user]').click();
  await expect(page.locator(current('explore'))).toBeVisible();
  await expect.poll(() => digest(page)).not.toBe(first);
  const preset = await digest(page);
  await page.locator('page-header [data-tab=validation]').click();
  await expect(page.locator(current('validation'))).toBeVisible();
  await page.goBack();
  await expect(page.locator(current('explore'))).toBeVisible();
  expect(await digest(page)).toBe(preset);
  await page.goBack();
  await expect(page.locator(current('learn'))).toBeVisible();
  await expect.poll(() => digest(page)).toBe(first);
  await page.goBack();
  await expect(page.locator(current('explore'))).toBeVisible();
  await page.goForward();
  await expect(page.locator(current('learn'))).toBeVisible();
  for (const [former, tab] of [['service', 'explore'], ['workload', 'explore'], ['capacity', 'plan'], ['published', 'validation']] as const) {
    await open(page, `#v=2&tab=${former}`);
    await expect(page.locator(current(tab)), former).toBeVisible();
  }
  await open(page, '#v=2&tab=workload');
  await expect(page.locator('.traffic-source')).toHaveAttribute('open', '');
});

test('engine and hardware are chosen at the head of their sections, by their real names', async ({ page }) => {
  await open(page);
  expect(await page.locator('[data-section]').evaluateAll((sections) => sections.map((section) => section.getAttribute('data-section')))).toEqual(['traffic', 'users', 'engine', 'hardware']);
  for (const id of ['workload.users.count', 'gateway.kind', 'scheduler.kind', 'fleet.gpu', 'fleet.model', 'fleet.replicas', 'fleet.tensor_parallel', 'cost.kind']) {
    await expect(control(page, id), id).toBeVisible();
  }
  const gpu = control(page, 'fleet.gpu');
  // S-LoRA's linear model knows no GPU: a choice sets what it needs with it.
  await expect(gpu).toHaveClass(/inactive/);
  await gpu.locator('select').selectOption({ label: 'NVIDIA H100 SXM5' });
  await settled(page);
  await expect(gpu).not.toHaveClass(/inactive/);
  await expect(gpu.locator('select')).toHaveValue('h100_sxm');
  await control(page, 'fleet.model').locator('select').selectOption({ label: 'Llama-3.1-8B' });
  await settled(page);
  await expect(page.locator('html')).toHaveAttribute('data-state', 'ready');
  expect(await link(page)).toContain('mdl=llama-3.1-8b');
});

test('what does not apply is found by search, and says what it would change to apply', async ({ page }) => {
  await open(page);
  const idle = page.locator('[data-section=engine] > details.idle');
  const chunk = control(page, 'scheduler.chunk_tokens');
  await expect(chunk).toBeHidden();
  await expect(idle).toBeHidden();
  await page.keyboard.press('/');
  await page.getByRole('combobox', { name: 'Search the page and the documentation' }).fill('scheduler.chunk_tokens');
  await page.locator('search-dialog [data-id="scheduler.chunk_tokens"]').click();
  await expect(idle).toBeVisible();
  const use = chunk.locator('[data-use]');
  await expect(use).toContainText('Sarathi');
  await use.click();
  await settled(page);
  await expect(control(page, 'scheduler.kind').locator('select')).toHaveValue('sarathi');
  await expect(chunk.locator('input.value')).toBeEnabled();
  await expect(chunk.locator('[data-use]')).toHaveCount(0);
  // One that was set and lost its effect stays in sight.
  await chunk.locator('xpath=ancestor::details').evaluateAll((all) => { for (const group of all) (group as HTMLDetailsElement).open = true; });
  await setNumber(page, 'scheduler.chunk_tokens', 300);
  await control(page, 'scheduler.kind').locator('select').selectOption('slora');
  await settled(page);
  await expect(idle).toBeVisible();
});

for (const language of ['en', 'zh']) {
  test(`no tab is wider than a small screen (${language})`, async ({ page }) => {
    await page.setViewportSize({ width: 320, height: 800 });
    for (const tab of ['learn', 'explore', 'plan', 'validation']) {
      await open(page, `#v=2&lang=${language}&tab=${tab}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect(wide, tab).toBe(0);
      await dismiss(page);
    }
  });
}

test('the first screen says what this is, and has two doors and a box for what people bring', async ({ page }) => {
  await open(page);
  const welcome = page.locator('.welcome');
  await expect(welcome).toContainText('simulates an LLM inference service');
  await expect(welcome).toBeInViewport();
  await welcome.locator('[data-door=understand]').click();
  await expect(page.getByRole('heading', { name: 'How an LLM service works' })).toBeVisible();
  await page.goBack();
  await welcome.locator('[data-door=plan]').click();
  await expect(page.locator(current('plan'))).toBeVisible();
  await page.goBack();
  await welcome.locator('[data-door=paste]').click();
  await expect(page.getByRole('dialog', { name: 'Paste or open anything' })).toBeVisible();
  await page.keyboard.press('Escape');
  await page.locator('.welcome [data-door=close]').click();
  await expect(welcome).toHaveCount(0);
  await open(page);
  await expect(welcome).toHaveCount(0);
});

test('the search finds parameters, charts, presets, terms and what is left out, and goes there', async ({ page }) => {
  await open(page);
  const dialog = page.getByRole('dialog', { name: 'Search the page and the documentation' });
  const box = dialog.getByRole('combobox');
  const search = async (query: string): Promise<void> => {
    await page.keyboard.press('/');
    await expect(box).toBeFocused();
    await box.fill(query);
  };
  await search('preempt');
  await expect(dialog.locator('[data-found=parameter]').first()).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(dialog).toBeHidden();

  await search('speculative');
  await expect(dialog.getByRole('option').first()).toHaveAttribute('data-found', 'limit');
  await page.keyboard.press('Escape');

  // One that does not apply is unfolded, and offers to.
  await search('scheduler.chunk_tokens');
  await page.keyboard.press('Enter');
  await expect(control(page, 'scheduler.chunk_tokens')).toBeInViewport();
  await expect(control(page, 'scheduler.chunk_tokens').locator('[data-use]')).toBeFocused();

  await search('h100');
  await dialog.getByRole('option', { name: /^GPU parameter/ }).click();
  await expect(control(page, 'fleet.gpu').locator('select')).toBeFocused();

  await page.locator('[data-action=search]').click();
  await box.fill('latency cdf');
  await page.keyboard.press('Enter');
  await expect(page.locator('[data-chart=latency_cdf] .plot')).toBeFocused();
  await expect(page.locator('[data-chart=latency_cdf]')).toBeInViewport();

  await search('tolerance');
  await dialog.locator('[data-id="capacity.tolerance"]').click();
  await expect(page.locator(current('plan'))).toBeVisible();
  await expect(control(page, 'capacity.tolerance')).toBeInViewport();

  await search('chunked prefill');
  await dialog.locator('[data-found=term]').first().click();
  await expect(page.locator('help-dialog [data-term="Chunked prefill"]')).toBeInViewport();
  await page.keyboard.press('Escape');

  await search('zzzz');
  await expect(dialog.getByRole('status')).toContainText('zzzz');
  await expect(dialog.getByRole('option')).toHaveCount(0);
});
