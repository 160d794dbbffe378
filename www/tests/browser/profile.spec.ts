// A person's own measurements in place of the shipped tables: fitted in the page, run, taken out, and given to the terminal.
import { readFileSync } from 'node:fs';
import type { Page } from '@playwright/test';
import { control, digest, expect, open, saved, setNumber, test } from './page.js';
import { terminal } from './terminal.js';

const TIMED = '#v=2&sched=vllm_v1&cost=profile&mdl=llama-2-7b&n=0&D=60';
const SETTINGS = ['workload.rate_rps=2', 'scheduler.kind=vllm_v1', 'cost.kind=profile', 'fleet.model=llama-2-7b', 'workload.adapters.count=0', 'workload.duration_s=60'];

const OPERATORS: Record<string, number> = {
  input_layernorm: 0.01, attn_pre_proj: 0.3, attn_rope: 0.01, attn_post_proj: 0.1, post_attention_layernorm: 0.01,
  mlp_up_proj: 0.5, mlp_act: 0.02, mlp_down_proj: 0.3, add: 0.01,
};

/** Token operators that take a fixed time and one for each token, as Vidur's profiler writes them. */
function mlp(degrees: readonly number[], worst = '4096'): string {
  const names = Object.keys(OPERATORS);
  const header = [...names.map((name) => `time_stats.${name}.median`), 'n_head', 'n_kv_head', 'n_embd', 'n_expanded_embd', 'use_gated_mlp', 'num_tokens', 'num_tensor_parallel_workers'];
  const rows = degrees.flatMap((degree) => ['1', '64', '512', worst].map((tokens) => [
    ...names.map((name) => ((OPERATORS[name] ?? 0) * (1 + (Number(tokens) || 1) / 500) / degree).toFixed(4)),
    '32', '32', '4096', '11008', 'True', tokens, String(degree),
  ]));
  return [header, ...rows].map((cells) => cells.join(',')).join('\n');
}

const ALL_REDUCE = ['time_stats.all_reduce.median,num_workers,size,devices_per_node,max_devices_per_node', '0.02,2,2048,2,8', '0.05,2,1048576,2,8', '0.9,2,67108864,2,8'].join('\n');

function file(name: string, text: string): { name: string; mimeType: string; buffer: Buffer } {
  return { name, mimeType: 'text/csv', buffer: Buffer.from(text) };
}

async function openSection(page: Page): Promise<void> {
  await open(page, TIMED);
  await page.locator('#group-fleet').evaluate((group: HTMLDetailsElement) => { group.open = true; });
  const section = page.locator('details.own-profile');
  await section.locator('summary').click();
  await expect(section.locator('#own-profile-layers')).toHaveValue('32');
}

async function choose(page: Page, ...files: ReturnType<typeof file>[]): Promise<void> {
  await page.locator('.own-profile input[type=file]').setInputFiles(files);
}

test('own measurements are fitted, run as in the terminal, and given back', async ({ page }, info) => {
  await openSection(page);
  const shipped = await digest(page);
  await expect(page.locator('figure.memory .origin')).not.toHaveAttribute('data-held-out', '0');
  await expect(page.locator('figure.memory .origin')).toContainText(/: .* [\d.]+\s% .* [\d.]+\s% .*; .* [\d.]+\s%/);
  const section = page.locator('details.own-profile');
  await choose(page, file('net.csv', ALL_REDUCE), file('mine.csv', mlp([1, 2])));
  await expect(section.locator('[role=status]')).toHaveAttribute('data-degrees', '1,2');
  const row = section.locator('tr[data-operator=mlp_up_proj][data-degree="1"]');
  await expect(row.locator('[data-origin]')).toHaveAttribute('data-origin', 'measured');
  await expect(row).toContainText('%');
  await expect(section.locator('tr[data-operator=attn_decode][data-degree="1"] [data-origin]')).toHaveAttribute('data-origin', 'modelled');
  await expect.poll(() => digest(page)).not.toBe(shipped);
  await expect(page.locator('figure.memory .origin')).toHaveAttribute('data-origin', 'loaded');
  await expect(page.locator('figure.memory .origin')).toHaveAttribute('data-held-out', '0');
  const own = await digest(page);
  await section.scrollIntoViewIfNeeded();
  await page.screenshot({ path: info.outputPath('own-1440.png') });

  const { download } = await saved(page, () => section.locator('button.download').click());
  const path = await download.path();
  expect(readFileSync(path, 'utf8')).toMatch(/^servescope-profile 1\n/);
  const run = terminal();
  if (run !== null) expect(run('simulate', '--link', '#v=4', ...SETTINGS.flatMap((set) => ['--set', set]), '--profile', path, '--json').digest).toBe(own);

  await setNumber(page, 'fleet.tensor_parallel', 4);
  await expect(control(page, 'cost.kind').locator('.control-error')).toContainText('Tensor parallel 1, 2');
  await setNumber(page, 'fleet.tensor_parallel', 1);
  await expect.poll(() => digest(page)).toBe(own);

  await section.locator('button.back').click();
  await expect.poll(() => digest(page)).toBe(shipped);
  await expect(section.locator('tr')).toHaveCount(0);
  // The text that was saved is taken as it is.
  await choose(page, { name: 'again.txt', mimeType: 'text/plain', buffer: readFileSync(path) });
  await expect.poll(() => digest(page)).toBe(own);
  await expect(section.locator('.unknown')).toBeVisible();
  test.skip(run === null, 'the terminal is not built');
});

test('a simulation that is started again has the loaded profile before its first run', async ({ page }) => {
  await page.addInitScript(() => {
    window.Worker = class extends Worker {
      constructor(address: string | URL, options?: WorkerOptions) {
        super(address, options);
        if (/\/worker-/.test(String(address))) Object.assign(window, { simulation: this });
      }
    };
  });
  await openSection(page);
  const shipped = await digest(page);
  await choose(page, file('net.csv', ALL_REDUCE), file('mine.csv', mlp([1, 2])));
  await expect.poll(() => digest(page)).not.toBe(shipped);
  const own = await digest(page);
  await page.evaluate(() => {
    const seen: (string | undefined)[] = [];
    new MutationObserver(() => { seen.push(document.documentElement.dataset['digest']); }).observe(document.documentElement, { attributeFilter: ['data-digest'] });
    Object.assign(window, { seen });
    (window as unknown as { simulation: Worker }).simulation.dispatchEvent(new ErrorEvent('error', { message: 'out of memory' }));
  });
  await expect(page.locator('[data-notice=restarted]')).toContainText('(out of memory)');
  await setNumber(page, 'workload.rate_rps', 3);
  const faster = await digest(page);
  await setNumber(page, 'workload.rate_rps', 2);
  await expect.poll(() => digest(page)).toBe(own);
  const seen = await page.evaluate(() => (window as unknown as { seen: string[] }).seen);
  // Two runs, and none of them with the shipped tables.
  expect(new Set(seen)).toEqual(new Set([faster, own]));
  await expect(page.locator('figure.memory .origin')).toHaveAttribute('data-origin', 'loaded');
});

test('what is wrong with a file is stated with row and column, and changes nothing', async ({ page }) => {
  await openSection(page);
  const shipped = await digest(page);
  await choose(page, file('bad.csv', mlp([1], 'fish')));
  await expect(page.getByText(/bad\.csv, row 5, column num_tokens: .*fish/).first()).toBeVisible();
  await choose(page, file('strange.csv', 'a,b\n1,2\n'));
  await expect(page.getByText(/strange\.csv has the columns a,b/).first()).toBeVisible();
  await expect(page.locator('.own-profile [role=status]')).toHaveCount(0);
  expect(await digest(page)).toBe(shipped);
});

test('on a phone the section fits, in Chinese too', async ({ page }, info) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await open(page, `${TIMED}&lang=zh`);
  await page.locator('.sheet-handle').click();
  await page.locator('#group-fleet').evaluate((group: HTMLDetailsElement) => { group.open = true; });
  const section = page.locator('details.own-profile');
  await section.locator('summary').click();
  await choose(page, file('mlp.csv', mlp([1, 2])));
  await expect(section.locator('[data-code=degrees_left_out]')).toContainText('张量并行度 2');
  await section.scrollIntoViewIfNeeded();
  await page.screenshot({ path: info.outputPath('own-390.png') });
  const wide = await section.evaluate((element) => element.scrollWidth > element.clientWidth);
  expect(wide).toBe(false);
});
