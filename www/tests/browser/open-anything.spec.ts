// The box for what people bring: each kind of text says what it is and what will happen, and is opened.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator, Page } from '@playwright/test';
import { expect, open, test, violations } from './page.js';

const DATA = join(import.meta.dirname, '../../../tests/data/overlay');
const CONFIG = JSON.stringify({
  model_type: 'llama', hidden_size: 2048, intermediate_size: 8192, num_hidden_layers: 20, num_attention_heads: 32, num_key_value_heads: 8,
  head_dim: 64, vocab_size: 128256, tie_word_embeddings: false, max_position_embeddings: 8192,
});
const TRACE = 'arrival_s,input_tokens,output_tokens\n0,500,100\n1,100,20\n2,250,200\n';

const box = (page: Page): Locator => page.getByRole('dialog', { name: 'Paste or open anything' });

async function paste(page: Page, text: string, kind: string): Promise<void> {
  await page.locator('[data-action=open]').click();
  await box(page).getByRole('textbox').fill(text);
  await expect(box(page).locator('.found')).toHaveAttribute('data-found', kind);
}

async function take(page: Page): Promise<void> {
  await box(page).getByRole('button', { name: 'Open it' }).click();
  await expect(box(page)).toBeHidden();
}

test('a command that launches vLLM says what it sets, what it leaves out, and asks for the GPU', async ({ page }) => {
  await open(page, '#v=4&tab=plan');
  await paste(page, 'vllm serve meta-llama/Llama-3.1-8B-Instruct --tensor-parallel-size 2 --max-num-seqs 64 --foo 3', 'launch_line');
  const found = box(page).locator('.found');
  await expect(found).toContainText('This command launches vLLM.');
  await expect(found).toContainText('Without effect here: --foo');
  await box(page).getByRole('combobox').selectOption('h200_sxm');
  await expect(found).toContainText('measured kernels');
  expect(await violations(page, { within: 'open-dialog' })).toEqual([]);
  await take(page);
  for (const part of [/gpu=h200_sxm/u, /tp=2/u]) await expect(page).toHaveURL(part);
  // vLLM v1 and measured kernels are the defaults.
  expect(page.url()).not.toMatch(/sched=|cost=/u);
});

test('what is said of an adapter’s file is said in the reader’s language', async ({ page }) => {
  await open(page, '#v=5&lang=zh');
  await page.locator('[data-action=open]').click();
  const dialog = page.locator('open-dialog dialog');
  await dialog.getByRole('textbox').fill(JSON.stringify({ peft_type: 'LORA', r: 32, lora_alpha: 64, target_modules: ['q_proj', 'v_proj'] }));
  await expect(dialog.locator('.found')).toContainText('槽位为所有线性模块预留显存');
  await expect(dialog.locator('.found')).not.toContainText('linear modules');
});

test('values out of bounds are stated, and change nothing', async ({ page }) => {
  await open(page, '#v=4');
  await paste(page, 'vllm serve Qwen/Qwen3-32B --tensor-parallel-size 2000', 'launch_line');
  await expect(box(page).locator('.found')).toContainText('64');
  await take(page);
  await expect(page.locator('.notice.error')).toContainText('64');
  await expect(page).toHaveURL(/#v=4$/u);
});

test('an SGLang command, a scenario, a link, an adapter, a model, a trace and a result are opened where they belong', async ({ page }) => {
  await open(page, '#v=4');
  await paste(page, 'python -m sglang.launch_server --model-path Qwen/Qwen3-32B --tp 2', 'launch_line');
  await expect(box(page).locator('.found')).toContainText('The kernels of SGLang were not measured here.');
  await expect(box(page).locator('.found')).not.toContainText('not modelled');
  await box(page).getByRole('button', { name: 'Close' }).click();

  await paste(page, '{"workload.rate_rps": 3.25}', 'scenario');
  await take(page);
  await expect(page).toHaveURL(/R=3\.25/u);

  await paste(page, 'https://example.org/servescope/#v=4&R=2.5&cv=3', 'link');
  await take(page);
  await expect(page).toHaveURL(/R=2\.5/u);

  await paste(page, '{"peft_type": "LORA", "r": 64, "target_modules": ["q_proj", "v_proj"]}', 'adapter_config');
  await expect(box(page).locator('.found')).toContainText('64');
  await take(page);
  await expect(page).toHaveURL(/ranks=64/u);

  await paste(page, CONFIG, 'model_config');
  await take(page);
  await expect(page).toHaveURL(/mdl=own/u);

  await paste(page, TRACE, 'trace');
  await take(page);
  await expect(page.locator('[data-notice=trace_loaded]')).toContainText('Loaded 3 requests');

  await paste(page, readFileSync(join(DATA, 'vllm_bench.json'), 'utf8'), 'result');
  await take(page);
  await expect(page.locator('[data-tab=validation]')).toHaveAttribute('aria-current', 'page');
});

test('what is of no known kind says how it begins, and a key pastes anywhere', async ({ page }) => {
  await open(page, '#v=4');
  await page.locator('h1').click();
  await page.evaluate(() => {
    const data = new DataTransfer();
    data.setData('text/plain', 'what is this');
    document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  });
  await expect(box(page).locator('.found')).toContainText('It is not recognised.');
  await expect(box(page).getByRole('button', { name: 'Open it' })).toBeDisabled();
  await page.keyboard.press('Escape');
  await expect(box(page)).toBeHidden();
});
