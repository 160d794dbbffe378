// A measured run of one's own on the Validation tab: the terminal's numbers, its settings, a fit, and files that are none.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Locator, Page } from '@playwright/test';
import { drawn, expect, open, test, violations } from './page.js';
import { PROGRAM, terminal } from './terminal.js';

interface Metric { measured: number | null; simulated: number | null; mape: number | null; correlation: number | null }
interface Told {
  metrics: Record<string, Metric>; taken_over: { path: string }[]; cause: { culprit: string };
  fit?: { constants: Record<string, { after: number }>; runs: number };
}

const DATA = join(import.meta.dirname, '../../../tests/data/overlay');
const AIPERF = ['aiperf/profile_export.jsonl', 'aiperf/profile_export_aiperf.json'];
const VLLM = 'llmservingsim/requests.jsonl';

const section = (page: Page): Locator => page.locator('measured-run-section');

async function opened(page: Page, files: readonly string[]): Promise<void> {
  await section(page).locator('[data-action=open-result]').setInputFiles(files.map((file) => join(DATA, file)));
}

async function ready(page: Page): Promise<void> {
  await expect(section(page)).toHaveAttribute('data-state', 'ready', { timeout: 60_000 });
}

function printed(file: string, more: readonly string[] = []): Told {
  return JSON.parse(execFileSync(PROGRAM, ['overlay', join(DATA, file), '--json', ...more], { encoding: 'utf8', maxBuffer: 1 << 26, stdio: ['ignore', 'pipe', 'ignore'] })) as Told;
}

async function expectTold(page: Page, { metrics, taken_over: taken, cause }: Told): Promise<void> {
  const number = (text: string | null): number | null => (text === null || text === '' ? null : Number(text));
  for (const [name, metric] of Object.entries(metrics)) {
    const row = section(page).locator(`tr[data-overlaid="${name}"]`);
    for (const key of ['measured', 'simulated', 'mape', 'correlation'] as const) expect(number(await row.getAttribute(`data-${key}`)), `${name} ${key}`).toBe(metric[key]);
  }
  const paths = await section(page).locator('[data-taken]').evaluateAll((all) => all.map((one) => (one as HTMLElement).dataset['taken']));
  expect(paths).toEqual(taken.map(({ path }) => path));
  await expect(section(page).locator('[data-culprit]')).toHaveAttribute('data-culprit', cause.culprit);
}

test('a result file has the terminal’s numbers, with its settings, its charts and a fit', async ({ page }) => {
  test.skip(terminal() === null, 'the terminal is not built');
  await open(page, '#v=4&tab=validation');
  await opened(page, [VLLM, 'llmservingsim/meta.json']);
  await ready(page);
  await expectTold(page, printed(VLLM));
  for (const name of ['ttft_distribution', 'ttft_requests', 'e2e_requests', 'ttft_error_by_input']) await drawn(page, name, 50);
  expect(await violations(page, { within: 'measured-run-section' })).toEqual([]);

  const constant = 'cost.host.base_ms';
  await section(page).locator('[data-item=constant]').selectOption(constant);
  await section(page).locator('[data-action=fit]').click();
  await expect(section(page).locator('[data-fitted]')).toHaveCount(1, { timeout: 60_000 });
  const { fit } = printed(VLLM, ['--fit', constant]);
  await expect(section(page).locator('[data-fitted]')).toHaveAttribute('data-after', String(fit?.constants[constant]?.after));
  await expect(section(page).locator('[data-fit-runs]')).toHaveAttribute('data-fit-runs', String(fit?.runs));
});

test('the settings in the controls go before what the file tells, where that is asked', async ({ page }) => {
  test.skip(terminal() === null, 'the terminal is not built');
  await open(page, '#v=4&sched=vllm_v1&cost=roofline&gpu=h100_sxm&mdl=llama-3.1-8b&tab=validation');
  await opened(page, AIPERF);
  await ready(page);
  // The file names its model and not its GPU: no verdict before that is said, and none is chosen beforehand.
  await expect(section(page).locator('[data-culprit]')).toHaveCount(0);
  await expect(section(page).locator('[data-missing]')).toHaveCount(1);
  await expect(section(page).locator('[data-missing]')).toHaveValue('');
  await expect(section(page).locator('[data-action=compare]')).toBeDisabled();
  await section(page).locator('[data-missing]').selectOption('h100_sxm');
  await section(page).locator('[data-action=compare]').click();
  await expect(section(page).locator('[data-culprit]')).toHaveCount(1);
  await expectTold(page, printed(AIPERF[0] ?? '', ['--set', 'fleet.gpu=h100_sxm']));
  await section(page).locator('[data-item=of-controls]').check();
  await ready(page);
  const set = ['scheduler.kind=vllm_v1', 'cost.kind=roofline', 'fleet.gpu=h100_sxm', 'fleet.model=llama-3.1-8b'].flatMap((one) => ['--set', one]);
  const own = printed(AIPERF[0] ?? '', set);
  await expect(section(page).locator('tr[data-overlaid=ttft_s]')).toHaveAttribute('data-simulated', String(own.metrics['ttft_s']?.simulated));
});

test('a file that is no result is named for what it is, and the next one is read', async ({ page }) => {
  await open(page, '#v=4&tab=validation');
  await section(page).locator('[data-action=open-result]').setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('nothing of this kind\n') });
  await expect(page.locator('.notice.error')).toContainText('notes.txt');
  await opened(page, ['vllm_bench.json']);
  await ready(page);
  await expect(section(page).locator('[data-missing="fleet.gpu"]')).toBeVisible();
});

test('a result that is opened anywhere stands in Validation, which asks for the server and lets a run of a sweep be chosen', async ({ page }) => {
  await open(page, '#v=4');
  await page.locator('page-header input[type=file]').setInputFiles(join(DATA, 'summaries/guidellm_sweep.json'));
  await ready(page);
  await expect(page.locator('[data-tab=validation]')).toHaveAttribute('aria-current', 'page');
  await section(page).locator('[data-missing="fleet.gpu"]').selectOption('h100_sxm');
  await section(page).locator('[data-action=compare]').click();
  await expect(section(page).locator('[data-culprit]')).toHaveCount(1);
  // It stands in the result, where it can be changed.
  const said = section(page).locator('[data-said="fleet.gpu"]');
  await expect(said).toHaveValue('h100_sxm');
  await said.selectOption('h200_sxm');
  await ready(page);
  await expect(said).toHaveValue('h200_sxm');
  expect(await section(page).locator('[data-action=open-simulation]').getAttribute('href')).toMatch(/(?=.*gpu=h200_sxm)(?=.*\bn=0\b)/u);
  await section(page).locator('[data-item=benchmark]').selectOption('3');
  // Of means: nothing to draw and nothing to fit, and the GPU that was said still stands.
  await expect(section(page).locator('tr[data-overlaid=ttft_s]')).toHaveAttribute('data-measured', '0.045');
  await expect(section(page).locator('[data-action=fit]')).toHaveCount(0);
  expect(await violations(page, { within: 'measured-run-section' })).toEqual([]);
});

test('a launch line and an adapter that are opened say what they are', async ({ page }) => {
  await open(page, '#v=4');
  const input = page.locator('page-header input[type=file]');
  await input.setInputFiles({ name: 'start.sh', mimeType: 'text/x-sh', buffer: Buffer.from('#!/bin/sh\nvllm serve meta-llama/Llama-3.1-8B -tp 2 --max-num-seqs 64\n') });
  await expect(page.locator('.notice')).toContainText('vLLM');
  await expect(page).toHaveURL(/[#&]tp=2/);
  expect(page.url()).not.toContain('sched=');
  await expect(page).toHaveURL(/[#&]n=0/);
  expect(page.url()).not.toContain('cost=');
  await expect(page.locator('[data-notice=launch_line]')).toContainText('does not say: GPU');
  await input.setInputFiles({ name: 'adapter_config.json', mimeType: 'application/json', buffer: Buffer.from('{"peft_type": "LORA", "r": 64, "lora_alpha": 16}') });
  await expect(page.locator('[data-notice=adapter_config]')).toContainText('64');
});
