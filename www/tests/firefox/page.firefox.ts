// The page in Firefox: it starts, gives the digests of the terminal, draws, and every part of it opens.
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Firefox, terminalDigest } from './firefox.js';

let firefox: Firefox;

beforeAll(async () => { firefox = await Firefox.start(); });
afterAll(() => firefox.stop());
afterEach(() => { expect(firefox.trouble.splice(0)).toEqual([]); });

it('is Firefox', async () => {
  expect(await firefox.version()).toMatch(/^firefox\/\d+/i);
});

it('starts with the digest of the terminal, and draws', async () => {
  await firefox.open();
  expect(await firefox.page.evaluate(() => document.documentElement.dataset['state'])).toBe('ready');
  expect(await firefox.digest()).toBe(terminalDigest());
  await firefox.page.locator('[data-chart] canvas').scroll({ scrollTop: 0 });
  const colours = await firefox.page.$$eval('[data-chart] canvas', (all) => all.map((element) => {
    const canvas = element;
    const pixels = canvas.getContext('2d')?.getImageData(0, 0, canvas.width || 1, canvas.height || 1).data ?? new Uint8ClampedArray(4);
    return new Set(new Uint32Array(pixels.buffer)).size;
  }));
  expect(Math.max(...colours)).toBeGreaterThan(4);
});

it('simulates anew as a slider is moved with the keyboard, and as a number is typed', async () => {
  await firefox.open('#v=4&R=2');
  const moved = await firefox.changed(async () => {
    await firefox.page.focus('[data-parameter="workload.rate_rps"] input[type=range]');
    await firefox.page.keyboard.press('ArrowRight');
  });
  const rate = await firefox.page.$eval('[data-parameter="workload.rate_rps"] input.value', (box) => (box).value);
  expect(Number(rate)).toBeGreaterThan(2);
  expect(moved).toBe(terminalDigest(`workload.rate_rps=${rate}`));
  const typed = await firefox.changed(async () => {
    await firefox.page.locator('[data-parameter="workload.arrivals.cv"] input.value').fill('4');
    await firefox.page.keyboard.press('Enter');
  });
  expect(typed).toBe(terminalDigest(`workload.rate_rps=${rate}`, 'workload.arrivals.cv=4'));
});

it('has the digests of every scheduler', async () => {
  for (const kind of ['slora', 'vllm_v1', 'sarathi', 'vllm', 'lightllm', 'orca', 'static', 'sglang']) {
    await firefox.open(`#v=4&sched=${kind}`);
    const shown = await firefox.page.evaluate(() => document.documentElement.dataset['digest']);
    expect(shown, kind).toBe(terminalDigest(`scheduler.kind=${kind}`));
  }
});

it('fetches a part once more that did not come', async () => {
  await firefox.open();
  firefox.host.fail(/help-dialog-.*\.js$/, 1);
  await firefox.page.keyboard.press('?');
  await firefox.seen('help-dialog dialog[open]');
  // The browser tells of the first time.
  firefox.trouble.splice(0, Infinity, ...firefox.trouble.filter((line) => !/help-dialog/.test(line)));
});

it('opens each tab', async () => {
  await firefox.open();
  for (const tab of ['learn', 'plan', 'validation', 'explore']) {
    await firefox.press(`page-header [data-tab=${tab}]`);
    await firefox.seen(`page-header [data-tab=${tab}][aria-current=page]`);
    await firefox.page.waitForFunction(() => (document.querySelector('main')?.textContent ?? '').trim().length > 200);
    await firefox.settled();
  }
});

it('compares two settings', async () => {
  await firefox.open('#v=4&R=1.9&D=60');
  await firefox.page.evaluate(() => { for (const one of document.querySelectorAll('details')) one.open = true; });
  await firefox.seen('compare-section [data-action=pin]');
  await firefox.press('compare-section [data-action=pin]');
  await firefox.changed(async () => {
    await firefox.page.locator('[data-parameter="workload.arrivals.cv"] input.value').fill('3');
    await firefox.page.keyboard.press('Enter');
  });
  await firefox.page.waitForFunction(() => /lowers|raises|no significant difference/.test(document.querySelector('compare-section')?.textContent ?? ''));
});

it('has the documentation', async () => {
  await firefox.open('', 'docs/index.html');
  expect(await firefox.page.$eval('h1', (heading) => heading.textContent)).toBe('Documentation');
  await firefox.page.setViewport({ width: 390, height: 800 });
  expect(await firefox.page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await firefox.page.setViewport({ width: 1440, height: 900 });
});
