// Parts of the page that cannot be fetched: offline early, or after a deployment that took them away.
import type { Page } from '@playwright/test';
import { control, digest, dropFile, expect, goTo, missed, ONLY_WHOLE, open, openGroups, setNumber, SMALL, test } from './page.js';
import { terminal } from './terminal.js';

/** Keeps files from the page until they are given back. */
async function without(page: Page, files: string): Promise<() => Promise<void>> {
  await page.route(files, (route) => route.abort());
  return () => page.unroute(files);
}

test('a view that cannot be fetched says so, and is fetched when asked again', async ({ page, trouble }) => {
  await open(page);
  const giveBack = await without(page, '**/assets/workload-page-*.js');
  await page.locator('.traffic-source > summary').click();
  const notice = page.locator('[data-missing=source]');
  await expect(notice).toBeVisible();
  // It waits to be asked.
  await page.locator('[data-tab=plan]').click();
  await page.locator('[data-tab=explore]').click();
  await expect(notice).toBeVisible();
  await giveBack();
  await notice.getByRole('button').click();
  await expect(page.locator('[data-chart=traffic_rate] canvas')).toBeVisible();
  await missed(trouble, 1);
});

test('a click that needs a missing part is answered with a notice', async ({ page, trouble }) => {
  // Before the page opens: no request passes while the browser takes the rule up.
  await without(page, '**/assets/help-dialog-*.js');
  await open(page);
  await page.keyboard.press('?');
  await expect(page.locator('[data-notice=part_missing]')).toBeVisible();
  await expect.poll(() => trouble.filter((line) => /Failed to fetch dynamically imported module/.test(line)).length).toBe(1);
  trouble.splice(trouble.findIndex((line) => /dynamically imported/.test(line)), 1);
  await missed(trouble, 1);
});

const TIMED = '#v=2&sched=vllm_v1&cost=profile&n=0&D=60';
const KERNELS = '#v=2&sched=vllm_v1&n=0&D=60&cost=kernels&mdl=llama-3.1-8b&gpu=h100_sxm';
/** What no language translates. */
const MODEL = /Llama-2-7B.*NVIDIA A100 80GB SXM4/;

for (const language of ['en', 'zh']) {
  test(`measured times that are out of reach are printed, and come with the network (${language})`, language === 'zh' ? ONLY_WHOLE : {}, async ({ page, trouble }, info) => {
    const giveBack = await without(page, '**/profiles/*');
    for (const [width, dark] of [[1440, false], [390, true]] as const) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' });
      await open(page, `${TIMED}&mdl=llama-2-7b&lang=${language}`);
      await expect(page.locator('html')).toHaveAttribute('data-state', 'failed');
      const printed = page.locator('stale-bar .stale-why');
      await expect(printed).toHaveAttribute('data-code', 'needs_table');
      await expect(printed).toContainText(MODEL);
      await page.screenshot({ path: info.outputPath(`no-times-${language}-${String(width)}-${dark ? 'dark' : 'light'}.png`) });
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    await openGroups(page);
    await expect(control(page, 'cost.kind').locator('.control-error')).toHaveAttribute('data-code', 'needs_table');
    await expect(control(page, 'cost.kind').locator('.control-error')).toContainText(MODEL);
    await control(page, 'cost.kind').locator('select').selectOption('roofline');
    const modelled = await digest(page);
    await control(page, 'cost.kind').locator('select').selectOption('profile');
    // The last answer stays, and is not taken for one of the measured times.
    await expect(page.locator('html')).toHaveAttribute('data-stale', 'failed');
    await expect(page.locator('html')).toHaveAttribute('data-state', 'failed');
    await expect(page.locator('html')).toHaveAttribute('data-digest', modelled);
    await giveBack();
    await page.evaluate(() => dispatchEvent(new Event('online')));
    await expect(page.locator('html')).toHaveAttribute('data-state', 'ready');
    await expect(page.locator('html')).not.toHaveAttribute('data-stale');
    await expect.poll(() => digest(page)).not.toBe(modelled);
    await missed(trouble);
  });
}

test('the measured times of a GPU and model are fetched when a run needs them, once, and kept', async ({ page, trouble }) => {
  const fetched: string[] = [];
  // What a newer run has cancelled was not fetched.
  page.on('requestfinished', (request) => {
    const [, file] = /\/profiles\/(.*)\.txt$/.exec(request.url()) ?? [];
    if (file !== undefined) fetched.push(file);
  });
  await open(page, '#v=2&sched=vllm_v1&n=0&D=60');
  expect(fetched).toEqual([]);
  await goTo(page, `${TIMED}&mdl=llama-2-7b`);
  const llama = await digest(page);
  await goTo(page, `${TIMED}&mdl=phi-2&gpu=a40`);
  const phi = await digest(page);
  await goTo(page, `${TIMED}&mdl=llama-2-7b`);
  expect(await digest(page)).toBe(llama);
  await expect(page.locator('[data-expected=unknown]')).toBeVisible();
  await goTo(page, KERNELS);
  const kernels = await digest(page);
  await page.locator('#group-fleet').evaluate((group: HTMLDetailsElement) => { group.open = true; });
  await expect(page.locator('p.origin[data-origin=kernels]')).toContainText('gemm:bfloat16:128256:4096');
  expect(fetched).toEqual(['a100_Llama-2-7b-hf', 'a40_phi-2', 'kernels_h100_sxm']);
  // No deployment of this model was measured on this GPU, but of others; of Vidur's operators there is none.
  await expect(page.locator('[data-expected=gpu]')).toHaveAttribute('data-tpot', /^0\.0/);
  const run = terminal();
  if (run !== null) {
    const settings = ['workload.rate_rps=2', 'scheduler.kind=vllm_v1', 'workload.adapters.count=0', 'workload.duration_s=60'];
    const of = (...more: string[]): string => run('simulate', '--link', '#v=4', ...[...settings, ...more].flatMap((set) => ['--set', set]), '--json').digest;
    expect(llama).toBe(of('cost.kind=profile', 'fleet.model=llama-2-7b'));
    expect(phi).toBe(of('cost.kind=profile', 'fleet.model=phi-2', 'fleet.gpu=a40'));
    expect(kernels).toBe(of('cost.kind=kernels', 'fleet.model=llama-3.1-8b', 'fleet.gpu=h100_sxm'));
  }
  await without(page, '**/profiles/*');
  await open(page, `${TIMED}&mdl=phi-2&gpu=a40`);
  expect(await digest(page)).toBe(phi);
  await missed(trouble);
});

test('a file needs the module for files; without it that is said, and the page goes on', async ({ page, trouble }) => {
  await open(page);
  const before = await digest(page);
  const giveBack = await without(page, '**/assets/studio_bg-*.wasm');
  await dropFile(page, 'small.csv', Buffer.from(SMALL));
  await expect(page.locator('.notice.error[data-notice~=missing_part]')).toBeVisible();
  await setNumber(page, 'workload.rate_rps', 3);
  await expect.poll(() => digest(page)).not.toBe(before);
  await giveBack();
  await dropFile(page, 'small.csv', Buffer.from(SMALL));
  await expect(page.locator('.trace-in-use')).toHaveAttribute('data-requests', '3');
  await missed(trouble);
});

test('a search whose worker’s script is missing ends, and starts no worker after worker', async ({ page, trouble }) => {
  // From the start: the ranges of further seeds start the pool soon after the first answer.
  await without(page, '**/assets/pool-worker-*.js');
  await open(page);
  let workers = 0;
  page.on('worker', () => { workers += 1; });
  await page.locator('[data-tab=plan]').click();
  await expect(page.locator('capacity-page')).toHaveAttribute('data-state', 'failed');
  await expect(page.locator('capacity-page .notice.error')).toHaveAttribute('data-code', 'missing_part');
  expect(workers).toBeLessThan(3);
  await missed(trouble);
});
