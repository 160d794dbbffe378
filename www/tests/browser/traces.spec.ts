import { traceFile, terminal } from './terminal.js';
import { control, digest, dismiss, dropFile, expect, link, open, openGroups, SMALL, test, WHOLE } from './page.js';

const AZURE = 'AzureLLMInferenceTrace_code.csv';

test('the Azure trace is simulated as in the terminal', async ({ page }) => {
  const file = traceFile(AZURE);
  const run = terminal();
  test.skip(file === null, 'SERVESCOPE_TRACES holds no Azure trace');
  test.skip(run === null, 'the terminal is not built');
  if (file === null || run === null) return;
  await open(page);
  const before = await digest(page);
  await dropFile(page, AZURE, file.bytes);
  await expect(page.locator('.trace-in-use')).toContainText(/8,819/);
  await expect.poll(() => digest(page)).not.toBe(before);
  expect(await digest(page)).toBe(run('simulate', '--trace', file.path, '--json').digest);
  expect(await link(page)).toContain(`file=${AZURE}`);
  await page.locator('.trace-in-use button').click();
  await expect.poll(() => digest(page)).toBe(before);
});

test('a trace replaces the generator’s controls and wakes its own', async ({ page }) => {
  await open(page);
  await openGroups(page);
  await expect(control(page, 'workload.trace.rate_scale').locator('.control-reason')).toContainText('trace file is open');
  const before = await digest(page);
  await dropFile(page, 'small.csv', Buffer.from(SMALL));
  await expect.poll(() => digest(page)).not.toBe(before);
  await expect(control(page, 'workload.rate_rps').locator('.control-reason')).toContainText('trace file decides');
  await expect(control(page, 'workload.rate_rps').locator('input[type=range]')).toBeDisabled();
  await openGroups(page);
  const file = await digest(page);
  await control(page, 'workload.trace.time_scale').locator('input[type=range]').focus();
  await page.keyboard.press('PageUp');
  await expect.poll(() => digest(page)).not.toBe(file);
});

test('one button raises the limits that a file breaks', async ({ page }) => {
  await open(page);
  const long = ['arrival_s,input_tokens,output_tokens', '0,5000,100', '1,100,20', '2,2500,2000'];
  await dropFile(page, 'long.csv', Buffer.from(long.join('\n')));
  const warning = page.locator('.warnings [data-code=limits_too_low]');
  await expect(warning).toContainText('scheduler.max_input_tokens=5000');
  const rejected = page.locator('[data-metric="requests.rejected_total"]');
  await expect(rejected).toHaveAttribute('data-value', '2');
  await warning.locator('[data-raise-limits]').click();
  await expect(rejected).toHaveAttribute('data-value', '0');
  await expect(warning).toHaveCount(0);
});

const BAD: [string, string | Buffer, RegExp][] = [
  ['truncated.csv', 'arrived_at,num_prefill_tokens,num_decode_tokens\n0.1,100,20\n0.5,20', /row 3/],
  ['columns.csv', 'alpha,beta\n1,2\n', /alpha/],
  ['text.csv', 'arrived_at,num_prefill_tokens,num_decode_tokens\n0.1,many,20\n', /row 2, column .*many/],
  ['negative.csv', 'arrived_at,num_prefill_tokens,num_decode_tokens\n0.1,-5,20\n', /row 2, column .*-5/],
  ['huge.csv', 'arrived_at,num_prefill_tokens,num_decode_tokens\n0.1,1e300,20\n', /row 2, column /],
  ['empty.csv', '', /empty/],
  ['header.csv', 'arrived_at,num_prefill_tokens,num_decode_tokens\n', /no rows/],
  ['binary.csv', Buffer.from([0x50, 0x4b, 3, 4, 0xff, 0xfe, 0, 0, 0x80]), /not a text file/],
];

test('a bad file is told clearly and the page goes on', async ({ page }) => {
  await open(page);
  const before = await digest(page);
  for (const [name, content, told] of BAD) {
    await test.step(name, async () => {
      if (WHOLE) await open(page);
      await dropFile(page, name, Buffer.from(content));
      const notice = page.locator('.notice.error');
      await expect(notice).toContainText(name);
      await expect(notice).toContainText(told);
      expect(await digest(page)).toBe(before);
      await expect(page.locator('.trace-in-use')).toHaveCount(0);
      await expect(page.locator('html')).toHaveAttribute('data-state', 'ready');
      await dismiss(page);
    });
  }
});

test('a bad file leaves the good one that was open', async ({ page }) => {
  await open(page);
  await dropFile(page, 'small.csv', Buffer.from(SMALL));
  await expect(page.locator('.trace-in-use')).toContainText('small.csv');
  await dropFile(page, 'empty.csv', Buffer.from(''));
  await expect(page.locator('.notice.error')).toContainText('empty.csv');
  await expect(page.locator('.trace-in-use')).toContainText('small.csv');
});

test('a scenario file is opened', async ({ page }) => {
  await open(page);
  await dropFile(page, 'mine.json', Buffer.from(JSON.stringify({ workload: { rate_rps: 3.5 } })));
  await expect(control(page, 'workload.rate_rps').locator('input.value')).toHaveValue('3.5');
  await dropFile(page, 'broken.json', Buffer.from('{ nothing'));
  await expect(page.locator('.notice.error')).toContainText('broken.json');
  await expect(control(page, 'workload.rate_rps').locator('input.value')).toHaveValue('3.5');
});
