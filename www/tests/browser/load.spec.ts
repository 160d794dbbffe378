// The load of the replicas, up to which rate the SLO holds and what makes requests wait; the bounds that "SLO met" counts, and that the search has them as its own.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator, Page } from '@playwright/test';
import { control, expect, numberBox, open, openGroups, setNumber, test } from './page.js';
import { PROGRAM, terminal } from './terminal.js';

const FOUND_MS = 40_000;
const number = (page: Page, id: string): Locator => page.locator(`[data-metric="${id}"]`);
const preset = (id: string): string => JSON.stringify((JSON.parse(readFileSync(join(import.meta.dirname, `../../../static/presets/${id}.json`), 'utf8')) as { scenario: object }).scenario);

interface Told { gpu: { load: number }; capacity: { slo_rps: number | null }; why: { waiting: { suspect: string; with: number; without: number }[] } }

/** Four settings that were stated wrongly once; the terminal's `load.rs` holds their numbers to the definitions. */
const SETTINGS: readonly { name: string; hash: string; scenario: string | null; suspects: string[] }[] = [
  { name: 'a burst', hash: '#preset=burst', scenario: 'burst', suspects: [] },
  { name: 'M/M/1', hash: '#preset=mm1', scenario: 'mm1', suspects: [] },
  { name: 'the README’s link', hash: '#v=2&R=4&D=200&n=0&in=fixed&out=fixed&u=4&up=list&ush=9,1,1,1&gk=proxy&gc=32&gor=fcfs', scenario: null, suspects: ['replicas'] },
  { name: 'a quota before four H100', hash: '#v=2&R=10&D=120&n=0&u=4&gpu=h100_sxm&mdl=llama-3.1-8b&rep=4&sched=vllm_v1&cost=roofline&gk=proxy&gtt=60000', scenario: null, suspects: ['tpm'] },
  { name: 'LoRA slots before an H100 with room', hash: '#v=4&R=8&sched=vllm_v1&gpu=h100_sxm&mdl=llama-3.1-8b&cost=kernels', scenario: null, suspects: ['adapter_slots'] },
];

for (const { name, hash, scenario, suspects } of SETTINGS) {
  test(`load, SLO capacity and causes are the terminal’s: ${name}`, async ({ page }, info) => {
    test.skip(terminal() === null, 'the terminal is not built');
    test.setTimeout(120_000);
    const file = info.outputPath('scenario.json');
    if (scenario !== null) writeFileSync(file, preset(scenario));
    const input = scenario === null ? ['--link', hash] : [file];
    const printed = JSON.parse(execFileSync(PROGRAM, ['simulate', ...input, '--json', '--capacity', '--why'], { encoding: 'utf8', maxBuffer: 1 << 28 })) as Told;
    await open(page, hash);
    await expect(number(page, 'gpu.load')).toHaveAttribute('data-state', 'found', { timeout: FOUND_MS });
    expect(Number(await number(page, 'gpu.load').getAttribute('data-value'))).toBe(printed.gpu.load);
    await expect(page.locator('[data-station=gpu]')).toContainText(/%\s*load/u);
    await expect(number(page, 'capacity.slo_rps')).toHaveAttribute('data-state', 'found', { timeout: FOUND_MS });
    expect(Number(await number(page, 'capacity.slo_rps').getAttribute('data-value'))).toBe(printed.capacity.slo_rps ?? 0);
    await expect(number(page, 'capacity.slo_rps')).toContainText('holds up to');
    const causes = page.locator('[data-code=cause]');
    expect(await causes.evaluateAll((all) => all.map((one) => one.getAttribute('data-suspect')))).toEqual(suspects);
    expect(printed.why.waiting.map(({ suspect }) => suspect)).toEqual(suspects);
    for (const { suspect } of printed.why.waiting) await expect(page.locator(`[data-code=cause][data-suspect=${suspect}]`)).toContainText('in place of');
  });
}

test('a setting without which the run is the same is said to be so beside its control, as the terminal has it', async ({ page }) => {
  test.skip(terminal() === null, 'the terminal is not built');
  const hash = '#v=4&D=120&n=0&sched=vllm_v1&gk=proxy&gc=500';
  const { warnings } = JSON.parse(execFileSync(PROGRAM, ['simulate', '--link', hash, '--json'], { encoding: 'utf8', maxBuffer: 1 << 28 })) as { warnings: { code: string; path: string }[] };
  const unneeded = warnings.filter(({ code }) => code.startsWith('no_effect_same_'));
  expect(unneeded.map(({ path }) => path)).toContain('gateway.concurrency');
  await open(page, hash);
  await openGroups(page);
  for (const { code, path } of unneeded) {
    await expect(control(page, path).locator('.control-reason')).toContainText(code === 'no_effect_same_run' ? 'without it the run is the same' : 'No effect on any request', { timeout: FOUND_MS });
  }
  // More requests than the limit come at once, which then acts.
  await setNumber(page, 'workload.rate_rps', 60);
  await expect(control(page, 'gateway.concurrency').locator('.control-reason')).not.toContainText('without it');
});

test('a load of other settings is marked until the new one is measured', async ({ page }) => {
  await open(page, '#v=2&R=1');
  await expect(number(page, 'gpu.load')).toHaveAttribute('data-state', 'found', { timeout: FOUND_MS });
  const before = Number(await number(page, 'gpu.load').getAttribute('data-value'));
  await page.evaluate(() => {
    const seen = new Set<string>();
    Object.assign(window, { seenLoads: seen });
    const look = (): void => { seen.add(document.querySelector('[data-station=gpu] b')?.textContent ?? ''); };
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  await numberBox(page, 'workload.rate_rps').fill('1.2');
  await numberBox(page, 'workload.rate_rps').press('Enter');
  await expect.poll(async () => Number(await number(page, 'gpu.load').getAttribute('data-value')), { timeout: FOUND_MS }).toBeGreaterThan(before);
  const seen = await page.evaluate(() => [...(window as unknown as { seenLoads: Set<string> }).seenLoads]);
  expect(seen.some((text) => text.endsWith('…'))).toBe(true);
  await expect(page.locator('.headline-details [data-metric="gpu.busy"]')).not.toBeEmpty();
});

test('“SLO met” names the bounds that are set and counts them', async ({ page }) => {
  await open(page, '#v=2');
  const met = page.locator('[data-metric="slo.attainment_all"]');
  await expect(met.locator('.slo-bounds')).toHaveText(/TTFT ≤ 6.*TPOT ≤ 0\.2/u);
  const before = Number(await met.getAttribute('data-value'));
  await open(page, '#v=2&sltb=0.3&slob=0');
  await expect(met.locator('.slo-bounds')).toHaveText(/TTFT ≤ 6.*TBT ≤ 0\.3/u);
  await expect.poll(async () => Number(await met.getAttribute('data-value'))).toBeLessThan(before);
});

test('the SLO is the goal of the Plan tab', async ({ page }) => {
  await open(page, '#v=2&tab=capacity&slot=4');
  await expect(page.locator('.slo-link')).toContainText('TTFT ≤ 4');
  await page.locator('[data-plan="slo.tbt_s"] input').fill('0.3');
  await page.locator('[data-plan="slo.tbt_s"] input').press('Enter');
  await expect(page.locator('.slo-link')).toContainText('TBT ≤ 0.3');
  await page.locator('details[data-fold=own-bounds] > summary').click();
  await numberBox(page, 'capacity.ttft_s').fill('3');
  await numberBox(page, 'capacity.ttft_s').press('Enter');
  await expect(page.locator('.slo-link')).toContainText('TTFT ≤ 3');
});

test('what the engine rejects is no count of a gateway, and is stated once with what to set', async ({ page }) => {
  await open(page, '#v=4&maxin=300');
  await expect(page.locator('[data-station=gateway]')).toContainText('rejected by the engine');
  await expect(page.locator('.warnings [data-code=limits_too_low]')).toHaveCount(1);
  await expect(page.locator('.warnings [data-code=some_refused]')).toHaveCount(0);
  await open(page, '#v=4');
  await expect(page.locator('[data-station=gateway]')).not.toContainText('engine');
});

test('requests that wait at the gateway are ordered there, as the engine’s control says', async ({ page }) => {
  await open(page, '#v=4&R=10&u=4&gk=proxy&gtt=60000');
  await expect(page.locator('[data-parameter="scheduler.order"] [data-elsewhere]')).toHaveCount(1);
  await open(page, '#v=4&R=1&gk=proxy');
  await expect(page.locator('[data-parameter="scheduler.order"] [data-elsewhere]')).toHaveCount(0);
});

test('Plan names the adapters of the traffic', async ({ page }) => {
  await open(page, '#v=4&tab=capacity&n=0');
  await expect(page.locator('[data-plan=load]')).toContainText('no LoRA adapters');
  await open(page, '#v=4&tab=capacity');
  await expect(page.locator('[data-plan=load]')).toContainText('200 LoRA adapters');
});
