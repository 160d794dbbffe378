// The gateway's panel, its section and its stories.
import type { Locator, Page } from '@playwright/test';
import { another, control, digest, drawn, expect, link, ONLY_WHOLE, open, openGroups, setNumber, settled, test, violations } from './page.js';

const CHECKS = ['rpm', 'tpm', 'concurrency', 'queue', 'kv', 'ttft'];
const STORIES = ['greedy_user', 'on_off_user', 'newcomer', 'retry_storm', 'small_quota', 'kv_memory', 'leaks', 'tail_prompt_budget', 'tail_mixed_prefill', 'tail_mixed_decode'];
/** A busy service where each check has something to stop. */
const BUSY = '#v=1&R=5&n=0&D=60&u=3&gk=proxy&grp=40&gtt=16000&gc=12&gqr=20&pool=6000&gtb=9&gt=20&goq=refuse';

async function choose(page: Page, title: string): Promise<void> {
  await page.locator('.menu.presets > button').click();
  await page.locator('button.preset').filter({ has: page.getByText(title, { exact: true }) }).click();
  await settled(page);
}

async function openGateway(page: Page): Promise<void> {
  await page.locator('.station[data-station="gateway"]').click();
  await expect(page.locator('gateway-panel .chain')).toBeVisible();
}

const chain = (page: Page): Promise<(string | null)[]> =>
  page.locator('.check[data-on="true"]').evaluateAll((cards) => cards.map((card) => card.getAttribute('data-check')));

/** The link's text of the chain; empty for the usual one. */
async function written(page: Page): Promise<string> {
  return new URLSearchParams((await link(page)).slice(1)).get('gch') ?? '';
}

test('without a proxy there is no chain and no section', async ({ page }) => {
  await open(page, '#v=1&D=60');
  await page.locator('.station[data-station="gateway"]').click();
  await expect(control(page, 'gateway.kind')).toBeVisible();
  await expect(page.locator('gateway-panel')).toHaveCount(0);
  await expect(page.locator('load-ribbon')).toHaveCount(0);
  await control(page, 'gateway.kind').locator('select').selectOption('proxy');
  await expect(page.locator('gateway-panel .check')).toHaveCount(6);
  // What limits without a setting of its own is not in the usual chain, which has no text of its own.
  expect(await chain(page)).toEqual(['rpm', 'tpm', 'concurrency', 'queue']);
  expect(await written(page)).toBe('');
});

test('each check switched off and on again changes the address and the digest, and back', async ({ page }) => {
  await open(page, `${BUSY}&gch=ttft|rpm|tpm|concurrency|queue|kv`);
  await openGateway(page);
  const before = await digest(page);
  for (const check of CHECKS) {
    const card = page.locator(`.check[data-check="${check}"]`);
    await card.getByRole('switch').click();
    await expect(card).toHaveAttribute('data-on', 'false');
    expect((await written(page)).split('|'), check).not.toContain(check);
    await expect.poll(() => digest(page), check).not.toBe(before);
    await card.getByRole('switch').click();
    await expect.poll(() => digest(page), check).toBe(before);
    expect(await written(page)).toBe('ttft|rpm|tpm|concurrency|queue|kv');
  }
});

test('each check can be moved with the keyboard, which changes the address', async ({ page }) => {
  const usual = 'rpm|tpm|concurrency|queue|kv';
  await open(page, `${BUSY}&gch=${usual}`);
  await openGateway(page);
  expect(await written(page)).toBe(usual);
  for (const check of ['rpm', 'tpm', 'concurrency', 'queue']) {
    const [, at] = [await chain(page), (await chain(page)).indexOf(check)];
    const later = page.locator(`.check[data-check="${check}"] .later`);
    await later.focus();
    await page.keyboard.press('Enter');
    expect((await chain(page)).indexOf(check), check).toBe(at + 1);
    expect(await written(page)).toBe((await chain(page)).join('|'));
    await expect(page.locator('.chain-spoken')).not.toBeEmpty();
    // The focus stays with the check.
    expect(await page.evaluate(() => document.activeElement?.closest('.check')?.getAttribute('data-check'))).toBe(check);
    await page.locator(`.check[data-check="${check}"] .earlier`).click();
    expect(await written(page)).toBe(usual);
  }
});

test('a check can be dragged to the place of another', async ({ page }) => {
  await open(page, BUSY);
  await openGateway(page);
  await page.locator('.check[data-check="queue"] .check-head').dragTo(page.locator('.check[data-check="rpm"] .check-count'));
  await expect.poll(() => chain(page)).toEqual(['queue', 'rpm', 'tpm', 'concurrency', 'kv']);
  expect(await written(page)).toBe('queue|rpm|tpm|concurrency|kv');
});

test('the order of checks matters: a full queue before or behind the first token that comes too late', async ({ page }) => {
  await open(page, `${BUSY}&gch=ttft|queue`);
  await openGateway(page);
  const before = await digest(page);
  await page.locator('.check[data-check="ttft"] .later').click();
  await expect.poll(() => written(page)).toBe('queue|ttft');
  await settled(page);
  await expect(page.locator('.check[data-check="queue"] .check-count [data-refused]')).toBeVisible();
  expect(await digest(page)).toMatch(/^[0-9a-f]{16}$/);
  await page.locator('.check[data-check="queue"]').getByRole('switch').click();
  await page.locator('.check[data-check="ttft"]').getByRole('switch').click();
  expect(await written(page)).toBe('none');
  await expect.poll(() => digest(page)).not.toBe(before);
});

test('the counts of the checks are those of the summary, and the ribbon is drawn on the clock of the charts', async ({ page }) => {
  await open(page, BUSY);
  await openGateway(page);
  const refused = await page.locator('.check [data-refused]').evaluateAll((marks) => marks.reduce((sum, mark) => sum + Number(mark.getAttribute('data-refused')), 0));
  expect(refused).toBeGreaterThan(0);
  const strip = page.locator('.ribbon-strip');
  await strip.scrollIntoViewIfNeeded();
  await expect(strip.locator('g[data-state]').first()).toBeAttached();
  const states = await strip.locator('g[data-state]').evaluateAll((spans) => [...new Set(spans.map((span) => span.getAttribute('data-state')))]);
  expect(states.length).toBeGreaterThan(1);
  const edges = async (): Promise<[number, number]> => strip.evaluate((svg) => {
    const rects = [...svg.querySelectorAll('g[data-state] rect')].map((rect) => rect.getBoundingClientRect());
    const { left } = svg.getBoundingClientRect();
    return [Math.min(...rects.map((rect) => rect.left)) - left, Math.max(...rects.map((rect) => rect.right)) - left];
  });
  const frame = async (): Promise<{ left: number; right: number }> => page.locator('chart-view[data-chart="gateway_waiting"]').evaluate((chart) => {
    const { left, right } = (chart as unknown as { frame: { left: number; right: number } }).frame;
    return { left, right };
  });
  const [from, to] = await edges();
  const { left, right } = await frame();
  expect(Math.abs(from - left)).toBeLessThan(2);
  expect(Math.abs(to - right)).toBeLessThan(2);
  // Zoomed, it fills the same place, and no part of it lies beside the charts.
  await another(page, `${BUSY}&zoom=20-40`);
  await strip.scrollIntoViewIfNeeded();
  await expect(strip.locator('g[data-state]').first()).toBeAttached();
  const [zoomedFrom, zoomedTo] = await edges();
  expect(Math.abs(zoomedFrom - left)).toBeLessThan(2);
  expect(Math.abs(zoomedTo - right)).toBeLessThan(2);
  await page.locator('.ribbon-list > summary').click();
  await expect(page.locator('.ribbon-list tbody tr')).not.toHaveCount(0);
  for (const name of ['gateway_kv', 'gateway_waiting', 'gateway_refusals', 'gateway_estimate', 'gateway_pressure']) {
    await expect(page.locator(`[data-chart="${name}"] h3`)).not.toContainText('gateway_');
    for (const entry of await page.locator(`[data-chart="${name}"] .legend li`).allTextContents()) expect(entry, name).not.toMatch(/[a-z]_[a-z]|\./);
  }
});

test('settings of the waiting queue’s policies stand at the gateway when its order needs them, and once only', async ({ page }) => {
  await open(page, `${BUSY}&gor=vtc`);
  await openGateway(page);
  await page.locator('[data-group="order"] > summary').click();
  await expect(control(page, 'scheduler.fair.weights')).toHaveCount(1);
  await expect(page.locator('gateway-panel [data-parameter="scheduler.fair.weights"] input')).toBeEnabled();
  await expect(page.locator('gateway-panel [data-parameter="scheduler.priority.classes"]')).toHaveCount(0);
  await another(page, `${BUSY}&gor=priority`);
  await expect(page.locator('gateway-panel [data-parameter="scheduler.priority.classes"]')).toHaveCount(1);
  await expect(page.locator('gateway-panel [data-parameter="scheduler.fair.weights"]')).toHaveCount(0);
});

for (const [place, story] of STORIES.entries()) {
  test(`the story ${story} shows both runs, and switches between them`, place === 0 ? {} : ONLY_WHOLE, async ({ page, request }) => {
    await open(page);
    const preset = await (await request.get(`presets/${story}.json`)).json() as { words: { en: { title: string } } };
    await choose(page, preset.words.en.title);
    const table = page.locator(`[data-story="${story}"]`);
    await expect(table).toBeVisible();
    const cells = (side: string): Promise<string[]> => table.locator(`td[data-side="${side}"]`).allTextContents();
    for (const side of ['with', 'without']) {
      await expect.poll(async () => (await cells(side)).filter((cell) => cell.includes('computing')).length, { timeout: 20_000 }).toBe(0);
    }
    const [together, without] = [await cells('with'), await cells('without')];
    expect(together).not.toEqual(without);
    // A run computed beside the page is the run that the page shows when it is switched to.
    const before = await digest(page);
    await table.locator('th[data-side="without"] button').click();
    await expect.poll(() => digest(page)).not.toBe(before);
    await expect.poll(() => cells('without')).toEqual(without);
    await expect.poll(() => cells('with'), { timeout: 20_000 }).toEqual(together);
    await expect(table.locator('th[data-side="without"] button')).toHaveAttribute('aria-pressed', 'true');
  });
}

/** Stories of a choice and of a number: what they set, a third value of it, and what its run is called. */
const THIRDS = [
  { story: 'will_router', id: 'fleet.router', third: 'ps_session', name: 'production-stack, session' },
  { story: 'will_host_cache', id: 'fleet.host_cache.gib', third: 60, name: /^Host KV cache.*: 60\W*GiB$/ },
] as const;

for (const { story, id, third, name } of THIRDS) {
  test(`the story ${story} has numbers of a third value of its own setting beside the run without`, async ({ page, request }) => {
    const { words: { en } } = await (await request.get(`presets/${story}.json`)).json() as { words: { en: { with: string; without: string } } };
    await open(page, `#preset=${story}`);
    await openGroups(page);
    const table = page.locator(`[data-story="${story}"]`);
    const button = (side: string): Locator => table.locator(`th[data-side="${side}"] button`);
    const title = (side: string): Promise<string> => table.locator(`th[data-side="${side}"]`).evaluate((cell) => [...cell.childNodes].find((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim() !== '')?.textContent?.trim() ?? '');
    const cells = async (side: string): Promise<string[]> => {
      await expect(table.locator('td').filter({ hasText: 'computing' })).toHaveCount(0, { timeout: 20_000 });
      return table.locator(`td[data-side="${side}"]`).allTextContents();
    };
    const set = async (value: string | number): Promise<void> => {
      if (typeof value === 'number') await setNumber(page, id, value);
      else await control(page, id).locator('select').selectOption(value);
    };
    const preset = await control(page, id).locator('select, input.value').inputValue();
    const of = { with: await cells('with'), without: await cells('without') };
    expect(await title('with')).toBe(en.with);
    const before = await digest(page);

    await set(third);
    await expect.poll(() => digest(page)).not.toBe(before);
    expect(await title('with')).toMatch(name);
    expect(await title('without')).toBe(en.without);
    await expect(button('with')).toHaveAttribute('aria-pressed', 'true');
    const other = await cells('with');
    expect(other.some((cell) => /\d/.test(cell))).toBe(true);
    expect([...other].sort()).not.toEqual([...of.with].sort());
    expect([...await cells('without')].sort()).toEqual([...of.without].sort());

    // It stays beside the run without when that is shown, and is shown again from there.
    await button('without').click();
    await expect(button('without')).toHaveAttribute('aria-pressed', 'true');
    expect(await cells('with')).toEqual(other);
    expect(await title('with')).toMatch(name);
    await button('with').click();
    await expect(control(page, id).locator('select, input.value')).toHaveValue(String(third));
    expect(await cells('with')).toEqual(other);

    await set(typeof third === 'number' ? Number(preset) : preset);
    await expect.poll(() => digest(page)).toBe(before);
    expect(await title('with')).toBe(en.with);
    expect(await cells('with')).toEqual(of.with);

    // What cannot be run has no numbers, and none are waited for.
    if (typeof third !== 'number') return;
    await setNumber(page, id, -5);
    await expect.poll(async () => (await cells('with')).every((cell) => !/\d/.test(cell))).toBe(true);
    expect([...await cells('without')].sort()).toEqual([...of.without].sort());
  });
}

test('a story of long prompts shows charts of both runs on the same axes, split by length and zoomed', async ({ page }) => {
  await open(page);
  await choose(page, 'Long prompt in the way');
  for (const chart of ['ttft_by_arrival', 'time_split']) for (const side of ['with', 'without']) await drawn(page, `story_${side}_${chart}`);
  const tops = await page.locator('.story-charts chart-view').evaluateAll((charts) => charts.map((chart) => (chart as unknown as { frame: { y_max: number } }).frame.y_max));
  expect(tops[0]).toBe(tops[1]);
  expect(tops[2]).toBe(tops[3]);
  const address = await link(page);
  expect(address).toContain('by=length');
  expect(address).toContain('zoom=60-80');
  // The first request that the two runs treat differently is marked in both, before the part that is shown.
  for (const side of ['with', 'without']) await expect(page.locator(`[data-chart=story_${side}_ttft_by_arrival] .marked-moment`)).toHaveAttribute('data-words', /^← request \d+/);
});

for (const [language, rules] of [['en', 'all'], ['zh', 'words']] as const) {
  test(`panel, section and story have no accessibility violations (${language})`, language === 'zh' ? ONLY_WHOLE : {}, async ({ page }) => {
    await open(page, `#v=1&lang=${language}`);
    await page.locator('.menu.presets > button').click();
    await page.locator('button.preset').nth(-3).click();
    await settled(page);
    await openGateway(page);
    await page.evaluate(() => { for (const details of document.querySelectorAll<HTMLDetailsElement>('gateway-panel details, .ribbon-list')) details.open = true; });
    await expect(page.locator('.story')).toBeVisible();
    expect(await violations(page, { rules, least: 'minor' })).toEqual([]);
  });
}
