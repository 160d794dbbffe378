import { readFileSync } from 'node:fs';
import { control, digest, expect, another, link, numberBox, open, setNumber, settled, test } from './page.js';

const INDEX = JSON.parse(readFileSync(new URL('../../../static/presets/index.json', import.meta.url), 'utf8')) as string[];

test('every preset runs, without problems, and differs from the others', async ({ page }) => {
  test.slow();
  await open(page);
  await page.locator('.menu.presets > button').click();
  const plain = await digest(page);
  const names = await page.locator('button.preset').evaluateAll((all) => all.map((one) => one.getAttribute('data-preset') ?? ''));
  expect([...names].sort()).toEqual([...INDEX].sort());
  const seen = new Set<string>();
  for (const name of names) {
    await another(page, '#v=4');
    expect(await digest(page)).toBe(plain);
    await page.locator('#menu-presets').evaluate((menu: HTMLElement) => { menu.showPopover(); });
    await page.locator(`button.preset[data-preset="${name}"]`).click();
    seen.add(await digest(page));
    await expect(page.locator('.control-error:visible')).toHaveCount(0);
    await expect(page.locator('.notice.error')).toHaveCount(0);
    await expect(page.locator('html')).toHaveAttribute('data-state', 'ready');
    await expect(page.locator('.menu.presets > button span')).toHaveAttribute('data-preset', name);
  }
  expect(seen.size).toBe(names.length);
});

test('a link with the name of a preset alone opens it', async ({ page }) => {
  const name = page.locator('.menu.presets > button span');
  await open(page);
  const plain = await digest(page);
  for (const way of [open, another]) {
    await way(page, '#preset=mm1');
    await expect(name).toHaveAttribute('data-preset', 'mm1');
    await expect(name).not.toHaveAttribute('data-modified', 'true');
    expect(await digest(page)).not.toBe(plain);
    await way(page, '#preset=mm1&R=0.5');
    await expect(name).toHaveAttribute('data-modified', 'true');
    await expect(numberBox(page, 'workload.rate_rps')).toHaveValue('0.5');
    await way(page, '#preset=lora_vllm&n=200');
    await expect(numberBox(page, 'workload.adapters.count'), 'also a value that is the default').toHaveValue('200');
    await another(page, '#v=4&preset=mm1');
    expect(await digest(page), 'a setting that was changed back to the defaults').toBe(plain);
  }
});

test('a preset that was changed says so', async ({ page }) => {
  await open(page);
  await page.locator('[data-parameter="workload.rate_rps"] input[type=range]').focus();
  await page.keyboard.press('PageUp');
  await expect(page.locator('.menu.presets > button span')).toHaveAttribute('data-modified', 'true');
});

test('a preset has no changes beside its numbers; a changed one keeps its name over a reload, and bad keys leave the address', async ({ page }) => {
  const name = page.locator('.menu.presets > button span');
  await open(page, '#v=4&R=3');
  await page.locator('#menu-presets').evaluate((menu: HTMLElement) => { menu.showPopover(); });
  await page.locator('button.preset[data-preset="s1"]').click();
  await settled(page);
  for (const change of await page.locator('.change i').all()) await expect(change).toHaveText('');
  await setNumber(page, 'workload.rate_rps', 1);
  await expect(page.locator('.change i').first()).not.toHaveText('');
  await open(page, await link(page));
  await expect(name).toHaveAttribute('data-preset', 's1');
  await expect(name).toHaveAttribute('data-modified', 'true');
  await open(page, '#v=5&R=1.7&nonsense=4');
  await expect(control(page, 'workload.rate_rps').locator('input.value')).toHaveValue('1.7');
  await expect.poll(() => page.evaluate(() => location.hash)).toBe('#v=5&R=1.7');
});
