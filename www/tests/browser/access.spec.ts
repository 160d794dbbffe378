import { atRest, control, digest, dropFile, expect, missed, ONLY_WHOLE, open, openGroups, setNumber, test, unfold, violations, WHOLE } from './page.js';

/** All rules in one theme; the other differs by its colours. */
const THEMES = [['light', 'all'], ['dark', 'colours']] as const;

for (const [colorScheme, rules] of THEMES) {
  test(`axe finds nothing serious, ${colorScheme}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme });
    await open(page);
    await control(page, 'workload.rate_rps').locator('input[type=range]').focus();
    await page.keyboard.press('PageUp');
    await digest(page);
    await openGroups(page);
    expect(await violations(page, { rules })).toEqual([]);
    await page.keyboard.press('?');
    await expect(page.locator('dialog')).toBeVisible();
    expect(await violations(page, { rules, within: WHOLE ? 'html' : 'dialog' })).toEqual([]);
  });
}

test('the sheet of controls on a phone closes with Esc, and its button has the focus again', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await open(page);
  const handle = page.locator('.sheet-handle');
  await handle.click();
  await page.locator('.groups summary').first().focus();
  await page.keyboard.press('Escape');
  await expect(handle).toHaveAttribute('aria-expanded', 'false');
  await expect(handle).toBeFocused();
});

test('what is no error is announced as none', async ({ page }) => {
  await open(page);
  await openGroups(page);
  await atRest(page);
  await expect(page.locator('[role=alert]')).toHaveCount(0);
  await setNumber(page, 'workload.arrivals.cv', 500);
  await expect(page.locator('[role=alert]')).toHaveCount(1);
});

test('axe finds nothing serious beside a fleet', async ({ page }) => {
  await open(page, '#v=1&R=6&D=30&sched=vllm_v1&rep=3&pool=3000');
  await expect(page.locator('[data-chart="lanes"]')).toBeVisible();
  await page.locator('.menu.share > button').click();
  expect(await violations(page)).toEqual([]);
});

for (const [colorScheme, rules] of THEMES) {
  test(`axe finds nothing serious in the workload tab, ${colorScheme}`, colorScheme === 'dark' ? ONLY_WHOLE : {}, async ({ page }) => {
    await page.emulateMedia({ colorScheme });
    await open(page, '#v=1&R=5&tab=workload');
    await page.locator('.freeze').click();
    await page.locator('.add-step').selectOption('thin');
    await page.locator('[data-field="steps.0.keep"] input').fill('7');
    await expect(page.locator('[data-field="steps.0.keep"] .control-error')).toHaveAttribute('data-code', 'step.out_of_range');
    await page.locator('.fit-run').click();
    await expect(page.locator('table.fit')).toBeVisible();
    await dropFile(page, 'mine.csv', Buffer.from('when,words\n0,5\n'));
    await page.locator('.map-start').click();
    await expect(page.locator('.map-read')).toBeVisible();
    expect(await violations(page, { rules })).toEqual([]);
  });
}

for (const [colorScheme, rules] of THEMES) {
  test(`axe finds nothing serious in the capacity tab, ${colorScheme}`, colorScheme === 'dark' ? ONLY_WHOLE : {}, async ({ page }) => {
    await page.emulateMedia({ colorScheme });
    await open(page, '#v=1&tab=capacity&cpg=scheduler.kind%3Dvllm%2Cvllm_v1');
    await expect(page.locator('capacity-page')).toHaveAttribute('data-state', 'ready');
    expect(await violations(page, { rules })).toEqual([]);
  });
}

test('axe finds nothing serious on a phone, in Chinese', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  if (WHOLE) {
    await open(page, '#v=1&lang=zh&tab=workload');
    await expect(page.locator('[data-chart=traffic_rate] canvas')).toBeVisible();
    expect(await violations(page, { rules: 'words' })).toEqual([]);
    await open(page, '#v=1&lang=zh&tab=capacity&cpg=scheduler.kind%3Dvllm%2Cvllm_v1');
    await expect(page.locator('capacity-page')).toHaveAttribute('data-state', 'ready');
    expect(await violations(page, { rules: 'words' })).toEqual([]);
  }
  await open(page, '#v=1&lang=zh');
  expect(await violations(page, { rules: 'words', within: WHOLE ? 'html' : 'main' })).toEqual([]);
  await page.locator('.sheet-handle').click();
  await openGroups(page);
  expect(await violations(page, { rules: 'words', within: WHOLE ? 'html' : 'aside' })).toEqual([]);
});

test('the language switches everything, in place', async ({ page }) => {
  await open(page);
  const before = await digest(page);
  await page.locator('[data-action=language]').click();
  await expect(page.locator('html')).toHaveAttribute('lang', 'zh-CN');
  await expect(page.getByRole('heading', { name: '服务过程' })).toBeVisible();
  await expect(control(page, 'workload.rate_rps').locator('label')).toContainText('请求速率');
  await expect(page).toHaveTitle(/大模型/);
  expect(await digest(page)).toBe(before);
  await page.reload();
  await expect(page.getByRole('heading', { name: '服务过程' })).toBeVisible();
});

test('the theme switches, charts included', async ({ page }) => {
  await page.emulateMedia({ colorScheme: 'light' });
  await open(page);
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  const canvas = page.locator('[data-chart="rates"] canvas');
  const picture = () => canvas.evaluate((element: HTMLCanvasElement) => element.toDataURL());
  const drawn = await picture();
  await page.locator('[data-action=theme][data-theme=auto]').click();
  await page.locator('[data-action=theme][data-theme=light]').click();
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
  expect(await paper()).not.toBe(light);
  await expect.poll(picture).not.toBe(drawn);
});

test('a stored theme is there before the page’s own script', async ({ page, trouble }) => {
  await page.emulateMedia({ colorScheme: 'light' });
  await page.addInitScript(() => { localStorage.setItem('servescope.theme', 'dark'); });
  await page.route('**/assets/index-*.js', (route) => route.abort());
  await page.goto('./');
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
  expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe('rgb(17, 20, 23)');
  await missed(trouble, 1);
});

test('everything can be reached with the keyboard, the skip link first', async ({ page }) => {
  await open(page);
  for (const chart of ['gaps', 'batch']) await unfold(page, chart);
  await page.keyboard.press('Tab');
  await expect(page.locator('.skip')).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.locator('main')).toBeFocused();
  const reached = new Set<string>();
  for (let press = 0; press < 120; press += 1) {
    await page.keyboard.press('Tab');
    reached.add(await page.evaluate(() => document.activeElement?.closest('[data-chart]')?.getAttribute('data-chart') ?? ''));
  }
  expect(reached.size).toBeGreaterThanOrEqual(11);
});

test('a menu opens and closes with the keyboard', async ({ page }) => {
  await open(page);
  const summary = page.locator('.menu.presets > button');
  await summary.focus();
  await page.keyboard.press('Enter');
  await expect(page.locator('button.preset').first()).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(page.locator('button.preset').first()).toBeHidden();
  await expect(summary).toBeFocused();
});

test('a phone shows the headline controls at the bottom edge and never scrolls sideways', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  for (const hash of ['', '#v=1&lang=zh']) {
    await open(page, hash);
    const wide = () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    expect(await wide()).toBe(0);
    const box = await control(page, 'workload.adapters.count').boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(844);
    await page.evaluate(() => { scrollTo(0, 1500); });
    await expect(control(page, 'workload.rate_rps')).toBeInViewport();
    await page.locator('.sheet-handle').click();
    await expect(page.locator('#group-queue')).toBeVisible();
    await openGroups(page);
    expect(await wide()).toBe(0);
  }
});

test('nothing leaves the page’s own host', async ({ page }) => {
  const foreign: string[] = [];
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith('http') && url.hostname !== '127.0.0.1') foreign.push(request.url());
  });
  await open(page);
  expect(foreign).toEqual([]);
});
