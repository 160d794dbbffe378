// A model of one's own from a config.json: pasted, chosen, run as in the terminal, carried by the link, and what is refused.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator, Page } from '@playwright/test';
import { control, digest, dropFile, expect, link, ONLY_WHOLE, open, test, violations } from './page.js';
import { SLORA, terminal } from './terminal.js';

const SEEDS = join(import.meta.dirname, '../../../tests/fuzz/corpus/model_config');
const LLAMA = readFileSync(join(SEEDS, 'llama.json'), 'utf8');
const ROOFLINE = '#v=4&sched=vllm_v1&cost=roofline&gpu=h100_sxm&n=0&D=20';
const SETTINGS = ['scheduler.kind=vllm_v1', 'cost.kind=roofline', 'fleet.gpu=h100_sxm', 'workload.adapters.count=0', 'workload.duration_s=20'];

async function section(page: Page, more = ''): Promise<Locator> {
  await open(page, `${ROOFLINE}${more}`);
  if (page.viewportSize()?.width === 390) await page.locator('.sheet-handle').click();
  await page.locator('#group-fleet').evaluate((group: HTMLDetailsElement) => { group.open = true; });
  const own = page.locator('details.own-model');
  await own.locator('summary').click();
  return own;
}

async function paste(own: Locator, text: string): Promise<void> {
  await own.locator('textarea').fill(text);
  await own.locator('button.use').click();
}

test('the format of the weights is read from the file beside the config', async ({ page }) => {
  await open(page, ROOFLINE);
  const file = (name: string, text: string): { name: string; mimeType: string; buffer: Buffer } => ({ name, mimeType: 'application/json', buffer: Buffer.from(text) });
  // In either order.
  await page.locator('page-header input[type=file]').setInputFiles([file('hf_quant_config.json', '{"quantization": {"quant_algo": "FP8"}}'), file('config.json', LLAMA)]);
  await expect(control(page, 'fleet.weights').locator('select')).toHaveValue('fp8');
  await expect(control(page, 'fleet.model').locator('select')).toHaveValue('llama-3.1-8b');
});

test('a pasted config runs as in the terminal, and the link carries its dimensions', async ({ page }, info) => {
  const own = await section(page);
  const before = await digest(page);
  await paste(own, LLAMA.replace('"rope_theta"', '"strange_layers"'));
  await expect(own.locator('[role=status]')).toBeVisible();
  await expect(own.locator('[data-code=config_ignored]')).toContainText('strange_layers');
  await expect.poll(() => digest(page)).not.toBe(before);
  const pasted = await digest(page);
  // It is a model of the list.
  await expect(control(page, 'fleet.model').locator('select')).toHaveValue('llama-3.1-8b');
  await expect(own.locator('[data-code=config_known]')).toContainText('Llama-3.1-8B');
  await own.scrollIntoViewIfNeeded();
  await page.screenshot({ path: info.outputPath('own-model.png') });
  const run = terminal();
  const sets = SETTINGS.flatMap((set) => ['--set', set]);
  if (run !== null) {
    expect(run('simulate', SLORA, ...sets, '--model-config', join(SEEDS, 'llama.json'), '--json').digest).toBe(pasted);
    expect(run('simulate', '--link', await link(page), '--json').digest).toBe(pasted);
  }
  // One that is in no list.
  await paste(own, LLAMA.replace('"vocab_size": 128256', '"vocab_size": 128000'));
  await expect(control(page, 'fleet.model').locator('select')).toHaveValue('own');
  await expect(page.locator('[data-expected=models]')).toContainText(/No measurement of this model.* ±[\d.]+\s%/);
  // A mixture dropped on the page.
  await dropFile(page, 'config.json', readFileSync(join(SEEDS, 'qwen3_moe.json')));
  await expect(control(page, 'fleet.model').locator('select')).toHaveValue('qwen3-30b-a3b');
  await expect.poll(() => digest(page)).not.toBe(pasted);
  test.skip(run === null, 'the terminal is not built');
});

test('what is wrong with a config is said with its field, and changes nothing', async ({ page }) => {
  const own = await section(page);
  const before = await digest(page);
  await paste(own, LLAMA.replace('"num_hidden_layers": 32', '"num_hidden_layers": 5000'));
  await expect(page.getByText(/num_hidden_layers: 5,?000 is not between 1 and 1,?000/).first()).toBeVisible();
  await paste(own, LLAMA.replace('"rope_theta"', '"kv_lora_rank"'));
  await expect(page.getByText(/the field qk_rope_head_dim is missing/).first()).toBeVisible();
  await expect(own.locator('[role=status]')).toHaveCount(0);
  expect(await digest(page)).toBe(before);
});

test('on a phone the section fits, in Chinese and in the dark too', ONLY_WHOLE, async ({ page }, info) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: 'dark' });
  const own = await section(page, '&lang=zh');
  await paste(own, readFileSync(join(SEEDS, 'gemma3.json'), 'utf8'));
  await expect(own.locator('[role=status]')).toContainText('已读取');
  await own.scrollIntoViewIfNeeded();
  await page.screenshot({ path: info.outputPath('own-model-390.png') });
  expect(await own.evaluate((element) => element.scrollWidth > element.clientWidth)).toBe(false);
  expect(await violations(page, { within: 'details.own-model' })).toEqual([]);
});
