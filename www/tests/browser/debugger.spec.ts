// The scheduler debugger: the same steps as the terminal's, the ways to a step, keys, and what it says beside another setting.
import type { Locator, Page } from '@playwright/test';
import { debuggerTexts } from '../../src/i18n/en/debugger.js';
import { control, digest, expect, link, ONLY_WHOLE, open, openGroups, saved, test, violations, WHOLE } from './page.js';
import { terminal } from './terminal.js';

/** Preemptions, adapters in slots, a queue. */
const RUN = '#v=1&R=8&D=30&sched=vllm_v1&pool=2500';
/** Of S-LoRA: its memory test. */
const SLORA = '#v=1&R=6&D=30';

async function unfold(page: Page): Promise<Locator> {
  await page.locator('[data-fold=debugger] > summary').click();
  const section = page.locator('debugger-section');
  await expect(section).toHaveAttribute('data-state', 'ready');
  return section;
}

const act = (section: Locator, action: string): Promise<void> => section.locator(`[data-action=${action}]`).click();

async function goTo(section: Locator, way: 'time' | 'request', value: number): Promise<void> {
  await section.locator(`input[name=${way}]`).fill(String(value));
  await section.locator(`input[name=${way}]`).press('Enter');
}

/** Waits for another step than `from`, and returns its number. */
async function step(section: Locator, from?: number): Promise<number> {
  if (from !== undefined) await expect(section).not.toHaveAttribute('data-step', String(from));
  return Number(await section.getAttribute('data-step'));
}

for (const hash of [RUN, SLORA]) {
  test(`a step is the terminal’s, bit for bit: ${hash}`, hash === SLORA ? ONLY_WHOLE : {}, async ({ page }) => {
    const run = terminal();
    test.skip(run === null, 'the terminal is not built');
    await open(page, hash);
    const section = await unfold(page);
    expect(await section.getAttribute('data-digest')).toBe(await digest(page));
    const same = async (...way: string[]): Promise<void> => {
      const { bytes } = await saved(page, () => act(section, 'step-file'));
      expect(JSON.parse(bytes.toString())).toEqual(run?.('debug', '--link', page.url(), '--json', ...way));
    };
    await same('--step-number', '0');
    await goTo(section, 'request', 60);
    const of60 = await step(section, 0);
    await same('--request', '60');
    await act(section, 'back');
    const before = await step(section, of60);
    expect(before).toBe(of60 - 1);
    await same('--step-number', String(before));
    await goTo(section, 'time', 12.5);
    const at = await step(section, before);
    await same('--at', '12.5');
    if (hash !== RUN) return;
    await act(section, 'first');
    await step(section, at);
    await act(section, 'next-kind');
    await step(section, 0);
    await same('--next', 'preemption');
    await expect(section.locator('.step-sentence')).toHaveAttribute('data-verdict', 'preempted');
  });
}

test('keys go through the steps, a step that is not there is said, and a lane leads to its request', async ({ page }) => {
  await open(page, RUN);
  const section = await unfold(page);
  const slider = section.locator('input[name=step]');
  await slider.focus();
  for (let press = 0; press < 3; press += 1) await page.keyboard.press('ArrowRight');
  await expect(section).toHaveAttribute('data-step', '3');
  await page.keyboard.press('ArrowLeft');
  await expect(section).toHaveAttribute('data-step', '2');
  await page.keyboard.press('End');
  await expect(section).toHaveAttribute('data-step', String(await slider.getAttribute('max')));
  await expect(section.locator('[data-action=forward]')).toBeDisabled();
  await goTo(section, 'request', 100_000);
  await expect(section.locator('.notice.error')).toHaveAttribute('data-code', 'out_of_range');
  await goTo(section, 'time', 15);
  await expect(section.locator('.notice.error')).toHaveCount(0);
  await expect(section.locator('[data-part=kv] tbody tr').first()).toBeVisible();
  const lane = section.locator('.gantt-lanes li').first();
  const request = await lane.getAttribute('data-request');
  await lane.locator('button').click();
  await expect(section.locator('.step-sentence')).toContainText(`equest ${request ?? ''}`);
  if (WHOLE) expect(await violations(page, { within: 'debugger-section' })).toEqual([]);
});

test('a step stops where drafts do not fit the budget, and shows those of each request', async ({ page }) => {
  const words = debuggerTexts.english;
  await open(page, '#v=5&n=0&in=fixed&inv=32&out=fixed&outv=200&R=40&D=1&batch=50&spm=ngram&spk=5&spr=0.5');
  const section = await unfold(page);
  await section.getByRole('combobox', { name: words.kind, exact: true }).selectOption({ label: words['kind.drafts'] });
  await act(section, 'next-kind');
  await step(section, 0);
  await expect(section.locator('.step-sentence')).toHaveAttribute('data-verdict', 'drafts_dropped');
  await expect(section.locator('.step-verdict')).toContainText(/Drafts of request \d+ .* dropped.*budget: 6/u);
  const batch = section.getByRole('region', { name: words.batch, exact: true });
  const heads = await batch.getByRole('columnheader').allTextContents();
  expect(heads.slice(-2)).toEqual([words['column.drafts'], words['column.accepted']]);
  const own = batch.locator('tr[data-mark=candidate] td');
  await expect(own.nth(heads.length - 3)).toHaveText('5');
  await expect(own.nth(heads.length - 2)).toHaveText(/^\d+ of \d+$/u);
});

test('a link reopens the debugger at its step, and the way back closes it', async ({ page }) => {
  await open(page, `${RUN}&step=128`);
  const section = page.locator('debugger-section');
  await expect(section).toHaveAttribute('data-step', '128');
  await expect(section.locator('.step-sentence')).toBeInViewport();
  await expect(section.locator('.block-bar g[data-role=decode]').first()).toBeVisible();
  await act(section, 'forward');
  await expect(section).toHaveAttribute('data-step', '129');
  expect(await link(page)).toContain('step=129');
  await page.locator('[data-fold=debugger] > summary').click();
  await expect.poll(() => link(page)).not.toContain('step=');
});

test('a lane shows the time at the gateway, in forced colours too', ONLY_WHOLE, async ({ page }) => {
  await page.emulateMedia({ forcedColors: 'active', colorScheme: 'dark' });
  await open(page, '#v=4&R=3&D=60&u=2&gk=proxy&gc=4&step=0');
  const section = page.locator('debugger-section');
  await expect(section).toHaveAttribute('data-state', 'ready');
  await goTo(section, 'time', 30);
  await step(section, 0);
  const held = section.locator('.gantt-lanes path[data-phase=gateway]').first();
  const fill = (of: Locator): Promise<string> => of.evaluate((element) => getComputedStyle(element).fill);
  expect(await fill(held)).not.toBe(await fill(section.locator('.gantt-lanes path[data-phase=queue]').first()));
  // The line of the step is white on the black of these colours.
  expect(await fill(section.locator('.gantt-lanes .now').first())).toBe('rgb(255, 255, 255)');
  await expect(section.locator('.gantt-legend [data-phase=gateway]')).toBeVisible();
});

test('beside a run that failed, the steps stay those of the result that is shown', ONLY_WHOLE, async ({ page }) => {
  await open(page, '#v=1&n=0&D=30&sched=vllm_v1&cost=roofline');
  const section = await unfold(page);
  const before = await digest(page);
  await openGroups(page);
  await control(page, 'fleet.model').locator('select').selectOption('llama-2-70b');
  await expect(page.locator('html')).toHaveAttribute('data-stale', 'failed');
  await act(section, 'forward');
  await expect(section).toHaveAttribute('data-step', '1');
  expect(await section.getAttribute('data-digest')).toBe(before);
  await page.locator('stale-bar [data-action=back]').click();
  await expect(page.locator('html')).not.toHaveAttribute('data-stale');
});

test('it speaks Chinese, on a phone', ONLY_WHOLE, async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await open(page, `${RUN}&lang=zh`);
  const section = await unfold(page);
  await goTo(section, 'time', 15);
  await step(section, 0);
  await expect(section.locator('.step-verdict')).toContainText('适配器');
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  expect(await violations(page, { rules: 'words', within: 'debugger-section' })).toEqual([]);
});
