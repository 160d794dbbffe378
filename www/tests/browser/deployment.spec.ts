// The fleet's panel: what lies in a GPU's memory, whether the model fits, and where the times come from.
import { control, digest, expect, open, settled, test } from './page.js';
import { terminal } from './terminal.js';

const ROOFLINE = '#v=2&sched=vllm_v1&cost=roofline&n=0&D=60';
const SETTINGS = ['workload.rate_rps=2', 'scheduler.kind=vllm_v1', 'cost.kind=roofline', 'workload.adapters.count=0', 'workload.duration_s=60'];

test('a deployment shows its memory and its times’ origin', async ({ page }) => {
  await open(page, ROOFLINE);
  const memory = page.locator('figure.memory');
  await page.locator('#group-fleet').evaluate((group: HTMLDetailsElement) => { group.open = true; });
  await expect(memory).toHaveAttribute('data-fits', 'true');
  await expect(memory.locator('svg.memory-bar')).toHaveAttribute('aria-label', /^weights 13\.5 GB, .*KV cache/);
  await expect(memory).toContainText('1 × NVIDIA A100 80GB SXM4');
  await expect(memory.locator('.origin')).toHaveAttribute('data-origin', 'own');
  const run = terminal();
  test.skip(run === null, 'the terminal is not built');
  if (run !== null) expect(await digest(page)).toBe(run('simulate', '--link', '#v=4', ...SETTINGS.flatMap((set) => ['--set', set]), '--json').digest);
});

for (const width of [1440, 390]) {
  test(`what cannot be built is printed where there is no answer yet, at ${width} px`, async ({ page }) => {
    await page.setViewportSize({ width, height: 900 });
    await open(page, '#v=1&n=0&D=30&sched=vllm_v1&cost=roofline&tp=3');
    await expect(page.locator('stale-bar .stale-why')).toContainText('Tensor parallel: Llama-2-7B has 32 heads, which 3 GPUs cannot share evenly.');
    await expect(page.locator('stale-bar')).toBeInViewport();
  });
}

test('what does not fit is a sentence with the number missing, and another GPU makes it fit', async ({ page }) => {
  await open(page, `${ROOFLINE}&mdl=llama-2-70b`);
  await page.locator('#group-fleet').evaluate((group: HTMLDetailsElement) => { group.open = true; });
  const memory = page.locator('figure.memory');
  await expect(memory).toHaveAttribute('data-fits', 'false');
  await expect(memory.locator('.short')).toHaveText(/Llama-2-70B does not fit: 62\.\d GB are missing on each NVIDIA A100/);
  await expect(control(page, 'fleet.model').locator('.control-error')).toContainText('62.');
  await expect(page.locator('html')).toHaveAttribute('data-state', 'failed');
  await control(page, 'fleet.gpu').locator('select').selectOption('mi300x');
  await settled(page);
  await expect(memory).toHaveAttribute('data-fits', 'true');
  await expect(memory.locator('.origin')).toHaveAttribute('data-origin', 'borrowed');
});
