import { execFileSync } from 'node:child_process';
import { PROGRAM, terminal } from './terminal.js';
import { another, control, digest, dismiss, expect, goTo, link, numberBox, open, setNumber, settled, shared, test } from './page.js';

test('the link opens to the same digest, with language, zoom and split', async ({ page }) => {
  await open(page);
  await setNumber(page, 'workload.rate_rps', 3.3);
  await setNumber(page, 'workload.arrivals.cv', 2.5);
  await page.locator('.split-choice').selectOption('length');
  await page.locator('[data-action=language]').click();
  const before = await digest(page);
  // Written by itself, after a pause.
  await expect.poll(() => page.evaluate(() => location.hash)).toMatch(/R=3\.3.*lang=zh/);
  const hash = await link(page);
  expect(hash).toMatch(/R=3\.3/);
  await open(page, hash);
  expect(await digest(page)).toBe(before);
  await expect(page.locator('html')).toHaveAttribute('lang', 'zh-CN');
  await expect(page.locator('.split-choice')).toHaveValue('length');
});

test('a default setting has a link without settings', async ({ page }) => {
  await open(page, '');
  await setNumber(page, 'workload.rate_rps', 3);
  await control(page, 'workload.rate_rps').locator('label').dblclick();
  await settled(page);
  expect(await link(page)).toBe('#v=5');
});

test('an address of the first version means what it meant, and is written in the present one', async ({ page }) => {
  await open(page, '#v=1&R=3&gk=proxy');
  const before = await digest(page);
  await setNumber(page, 'workload.rate_rps', 4);
  await expect.poll(() => digest(page)).not.toBe(before);
  await setNumber(page, 'workload.rate_rps', 3);
  await expect.poll(() => digest(page)).toBe(before);
  const hash = await link(page);
  expect(hash).toMatch(/^#v=5&/);
  expect(decodeURIComponent(hash)).toContain('gch=rpm|tpm|concurrency|queue|kv');
});

test('a link opened in the same tab is taken over', async ({ page }) => {
  await open(page);
  const before = await digest(page);
  await page.evaluate(() => { location.hash = '#v=1&cv=4'; });
  await expect(numberBox(page, 'workload.arrivals.cv')).toHaveValue('4');
  await expect.poll(() => digest(page)).not.toBe(before);
});

const BAD = [
  ['a value out of bounds', '#v=1&cv=9999', /0\.05 and 32/],
  ['text for a number', '#v=1&R=lots', /lots/],
  ['unknown keys', '#v=1&nonsense=4&folly=1&whim=2', /nonsense.*folly.*whim/],
  ['an unknown preset', '#preset=nothing&R=3', /preset=nothing/],
  ['rubbish', '#%%%&&==;;', /%%%|==|;;/],
  ['another version', '#v=99&R=3', /v=99/],
] as const;

test('a link that cannot be used in full is stated, when the page is loaded and when it is open, and the page goes on', async ({ page }) => {
  await open(page, BAD[0][1]);
  for (const [what, hash, printed] of [BAD[0], ...BAD]) {
    await test.step(what, async () => {
      if (page.url().endsWith(hash)) await settled(page);
      else await another(page, hash);
      await expect(page.locator('.notice.error')).toHaveCount(1);
      await expect(page.locator('.notice.error')).toContainText(printed);
      await expect(page.locator('html')).toHaveAttribute('data-state', 'ready');
      await digest(page);
      await dismiss(page);
      await goTo(page, '#v=1&R=3');
    });
  }
});

test('a value out of bounds is moved to the end of its slider, and the page shows a run', async ({ page }) => {
  await open(page, '#v=1&cv=9999&R=-4');
  await expect(numberBox(page, 'workload.arrivals.cv')).toHaveValue('8');
  await expect(numberBox(page, 'workload.rate_rps')).toHaveValue('0.1');
  await expect(page.locator('html')).toHaveAttribute('data-state', 'ready');
});

test('the copied command and the link give the terminal’s digest', async ({ page, context }) => {
  const run = terminal();
  test.skip(run === null, 'the terminal is not built');
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await open(page, '#v=1&R=3&cv=2&alpha=0.4&ranks=8,16');
  const here = await digest(page);
  await shared(page, 'command');
  const command = await page.evaluate(() => navigator.clipboard.readText());
  expect(command).toMatch(/^servescope simulate /);
  const options = [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map((part) => part[1] ?? part[2] ?? part[3] ?? '').slice(1);
  expect(run?.(...options, '--json').digest).toBe(here);
  await shared(page, 'link');
  const address = await page.evaluate(() => navigator.clipboard.readText());
  expect(run?.('simulate', '--link', address, '--json').digest).toBe(here);
});

test('the command of vLLM is the terminal’s, and another scheduler is said to have none', async ({ page, context }) => {
  test.skip(terminal() === null, 'the terminal is not built');
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const setting = '#v=4&sched=vllm_v1&cost=roofline&gpu=h100_sxm&mdl=llama-3.1-8b&tp=2&n=16';
  const item = page.locator('[data-item=vllm_serve]');
  const choose = async (): Promise<void> => {
    await page.locator('#menu-share').evaluate((menu: HTMLElement) => { menu.showPopover(); });
    await item.click();
  };
  await open(page, setting);
  await choose();
  await expect(page.locator('[data-notice^=vllm_serve_copied]')).toBeVisible();
  const printed = execFileSync(PROGRAM, ['vllm-serve', '--link', setting], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(printed);
  expect(printed).toContain('--tensor-parallel-size 2');
  // Measured kernels and profiles are tables of the simulation's thread, which the command does not need.
  for (const times of ['cost=kernels&gpu=h100_sxm&mdl=llama-3.1-8b&n=0', 'cost=profile&gpu=a100_80_sxm&mdl=llama-2-7b']) {
    await page.locator('[data-notice=vllm_serve_copied] button, [data-notice=vllm_serve_copied_with] button').first().click();
    await another(page, `#v=4&sched=vllm_v1&${times}`);
    await choose();
    await expect(page.locator('[data-notice^=vllm_serve_copied]')).toBeVisible();
    const text = await page.evaluate(() => navigator.clipboard.readText());
    expect(text).toBe(execFileSync(PROGRAM, ['vllm-serve', '--link', `#v=4&sched=vllm_v1&${times}`], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
    // The notice speaks of last lines only where there are some.
    await expect(page.locator('[data-notice=vllm_serve_copied_with]')).toHaveCount(text.trimEnd().split('\n').at(-1)?.startsWith('#') === true ? 1 : 0);
  }
  await another(page, '#v=4');
  await choose();
  await expect(page.locator('[data-notice=export_failed]')).toContainText('S-LoRA is not how vLLM');
});
