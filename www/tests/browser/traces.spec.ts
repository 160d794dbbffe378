import { SLORA, terminal, traceFile } from './terminal.js';
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
  expect(await digest(page)).toBe(run('simulate', SLORA, '--trace', file.path, '--json').digest);
  expect(await link(page)).toContain(`file=${AZURE}`);
  await page.locator('.trace-in-use button').click();
  await expect.poll(() => digest(page)).toBe(before);
});

test('a trace replaces the generator’s controls and wakes its own', async ({ page }) => {
  await open(page);
  await openGroups(page);
  await expect(control(page, 'workload.trace.rate_scale').locator('.control-reason')).toContainText('Open a trace file');
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

test('what a file decides shows the file’s own numbers, and no others', async ({ page }) => {
  await open(page);
  const generated = await control(page, 'workload.rate_rps').locator('input.value').inputValue();
  // Four requests in 4 s, gaps of 1, 2 and 1 s.
  const rows = ['arrival_s,input_tokens,output_tokens,user,adapter', '0,100,20,0,0', '1,300,40,0,0', '3,200,30,1,1', '4,200,30,0,0'];
  await dropFile(page, 'own.csv', Buffer.from(rows.join('\n')));
  const rate = control(page, 'workload.rate_rps');
  await expect(rate).toHaveAttribute('data-from-file', '1');
  await expect(rate.locator('input.value')).toHaveValue('1');
  await expect(rate.locator('input[type=range]')).toHaveAttribute('aria-valuetext', /^1\sreq/);
  await expect(control(page, 'workload.arrivals.cv').locator('input.value')).toHaveValue('0.3536');
  await expect(control(page, 'workload.adapters.count').locator('input.value')).toHaveValue('2');
  const alpha = Number(await control(page, 'workload.adapters.alpha').getAttribute('data-from-file'));
  expect(alpha).toBeGreaterThan(0);
  expect(alpha).toBeLessThan(1);
  await openGroups(page);
  await expect(control(page, 'workload.input_tokens.mean').locator('input.value')).toHaveValue('200');
  await expect(control(page, 'workload.output_tokens.high').locator('input.value')).toHaveValue('40');
  await expect(control(page, 'workload.input_tokens.mean')).toBeVisible();
  // The file says nothing of a distribution, so the control names none.
  await expect(control(page, 'workload.input_tokens.kind').locator('select')).toHaveValue('');
  await expect(control(page, 'workload.input_tokens.exponent').locator('input.value')).toHaveValue('');
  await page.locator('.trace-in-use button').click();
  await expect(rate.locator('input.value')).toHaveValue(generated);
  await expect(rate).not.toHaveAttribute('data-from-file');
});

test('a wrong JSON file is called one in three lines', async ({ page }) => {
  await open(page);
  const before = await digest(page);
  const many = Object.fromEntries(Array.from({ length: 700 }, (_, place) => [`trace-${String(place)}.csv`, { rows: place }]));
  const worn = { workload: Object.fromEntries(Array.from({ length: 9 }, (_, place) => [`made_up_${String(place)}`, 'x'.repeat(5000)])) };
  const files: [string, unknown, RegExp][] = [
    ['stats.json', many, /begins with trace-0\.csv/], ['list.json', [1, 2, 3], /begins with \[1,2,3\]/], ['worn.json', worn, /6 more/],
  ];
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 900 });
    for (const [name, content, printed] of files) {
      await dropFile(page, name, Buffer.from(JSON.stringify(content)));
      const notice = page.locator('[data-notice~=scenario_failed], [data-notice=file_unknown]');
      await expect(notice).toContainText(name);
      await expect(notice).toContainText(printed);
      const lines = await notice.locator('span').evaluate((span) => span.getBoundingClientRect().height / parseFloat(getComputedStyle(span).lineHeight));
      expect(Math.round(lines), `${name} at ${String(width)}`).toBeLessThanOrEqual(3);
      expect(await digest(page)).toBe(before);
      await dismiss(page);
    }
  }
});

test('one button raises the limits that a file breaks', async ({ page }) => {
  await open(page);
  const long = ['arrival_s,input_tokens,output_tokens', '0,5000,100', '1,100,20', '2,2500,2000'];
  await dropFile(page, 'long.csv', Buffer.from(long.join('\n')));
  const warning = page.locator('.warnings [data-code=limits_too_low]');
  await expect(warning).toContainText('5,000');
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

test('a bad file is stated clearly and the page goes on', async ({ page }) => {
  await open(page);
  const before = await digest(page);
  for (const [name, content, printed] of BAD) {
    await test.step(name, async () => {
      if (WHOLE) await open(page);
      await dropFile(page, name, Buffer.from(content));
      const notice = page.locator('.notice.error');
      await expect(notice).toContainText(name);
      await expect(notice).toContainText(printed);
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

test('behind the door for what people bring the numbers are in sight once a trace is open', async ({ page }) => {
  await open(page, '');
  await page.locator('[data-door=paste]').click();
  const rows = Array.from({ length: 200 }, (_, place) => `${String(place)},${String(100 + place)},20`);
  await page.getByRole('textbox', { name: 'Command, text of a file, or link' }).fill(`arrival_s,input_tokens,output_tokens\n${rows.join('\n')}\n`);
  await page.getByRole('button', { name: 'Open it' }).click();
  await expect(page.locator('.trace-in-use')).toContainText('Servescope');
  await expect(page.locator('headline-numbers [data-metric="slo.attainment_all"]')).toBeInViewport();
});
