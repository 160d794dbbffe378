// The workload tab: drawing, files of every kind, steps, fits, exports.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { ALONE, atRest, control, digest, dropFile, expect, link, ONLY_WHOLE, open, saved, settled, SMALL, test } from './page.js';
import { PROGRAM, SLORA, terminal, traceFile } from './terminal.js';

test('the traffic source is part of the address', async ({ page }) => {
  await open(page);
  await page.locator('.traffic-source > summary').click();
  await expect(page.locator('workload-page')).toBeVisible();
  await expect(page.locator('[data-chart=traffic_rate] canvas')).toBeVisible();
  expect(await link(page)).toContain('tab=traffic');
  await open(page, await link(page));
  await expect(page.locator('[data-chart=traffic_rate] canvas')).toBeVisible();
  await page.locator('.traffic-source > summary').click();
  await expect(page.locator('[data-chart=latency_cdf] canvas')).toBeVisible();
});

test('a curve drawn with the pointer is what arrives', async ({ page }) => {
  await open(page, '#v=1&tab=workload');
  const before = await digest(page);
  await atRest(page);
  const drawing = page.locator('.drawing');
  await drawing.scrollIntoViewIfNeeded();
  const box = await drawing.boundingBox();
  if (box === null) throw new Error('nothing to draw on');
  await page.mouse.move(box.x + 0.1 * box.width, box.y + 0.9 * box.height);
  await page.mouse.down();
  await page.mouse.move(box.x + 0.5 * box.width, box.y + 0.1 * box.height, { steps: 8 });
  await page.mouse.move(box.x + 0.9 * box.width, box.y + 0.9 * box.height, { steps: 8 });
  await page.mouse.up();
  await expect.poll(() => digest(page)).not.toBe(before);
  expect(await link(page)).toMatch(/ck=points&.*pts=/);
  const points = (await control(page, 'workload.curve.points').locator('input.value').inputValue()).split(',').map(Number);
  expect(points.length).toBe(82);
  const heights = points.filter((_, index) => index % 2 === 1);
  expect(Math.max(...heights)).toBeGreaterThan(3);
  expect(heights.indexOf(Math.max(...heights))).toBeGreaterThan(15);
  expect(heights.indexOf(Math.max(...heights))).toBeLessThan(25);
  const drawn = await digest(page);
  await drawing.focus();
  await page.keyboard.press('ArrowUp');
  await expect.poll(() => digest(page)).not.toBe(drawn);
  await page.locator('.drawing-foot button').click();
  await expect.poll(() => digest(page)).toBe(before);
});

test('each export is read again', async ({ page }) => {
  await open(page, '#v=1&D=60&tab=workload');
  await settled(page);
  // Request bodies go to a server and are no trace.
  const buttons = page.locator('[data-export]:not([data-export=bodies])');
  await expect(buttons.first()).toBeVisible();
  const formats = await buttons.evaluateAll((all) => all.map((button) => button.getAttribute('data-export') ?? ''));
  expect(formats.length).toBeGreaterThanOrEqual(10);
  for (const format of formats) {
    const { name, bytes } = await saved(page, () => page.locator(`[data-export=${format}]`).click());
    await dropFile(page, name, bytes);
    await expect(page.locator('source-section .source'), format).toHaveAttribute('data-format', format);
    await expect(page.locator('source-section .source'), format).toHaveAttribute('data-requests', /^[1-9]/);
    await page.locator('source-section .choices .back').click();
    await expect(page.locator('source-section .generated')).toBeVisible();
  }
});

test('an export says what its format does not hold', async ({ page }) => {
  await open(page, '#v=1&D=60&tab=workload');
  await page.locator('[data-export=vidur]').click();
  await expect(page.locator('[data-notice=export_lost]')).toContainText('users, adapters and ranks');
  await page.locator('[data-export=servescope_jsonl]').click();
  await expect(page.locator('.notice')).toHaveCount(1);
});

test('reading a file can be cancelled', ALONE, async ({ page }) => {
  await open(page, '#v=1&tab=workload');
  await dropFile(page, 'small.csv', Buffer.from(SMALL));
  await expect(page.locator('source-section .source')).toHaveAttribute('data-requests', '3');
  // Made in the page, and long enough that a quick machine does not end before the click.
  await page.evaluate(() => {
    const rows = ['arrived_at,num_prefill_tokens,num_decode_tokens'];
    for (let row = 0; row < 2_000_000; row += 1) rows.push(`${String(row / 100)},100,20`);
    const held = new DataTransfer();
    held.items.add(new File([rows.join('\n')], 'long.csv'));
    document.querySelector('main')?.dispatchEvent(new DragEvent('drop', { dataTransfer: held, bubbles: true, cancelable: true }));
  });
  await page.locator('source-section .loading button').click();
  await expect(page.locator('[data-notice=reading_cancelled]')).toContainText('long.csv');
  await expect(page.locator('source-section')).toContainText('small.csv');
  // The studio was ended with the reading, and is given its file again.
  const { bytes } = await saved(page, () => page.locator('[data-export=vidur]').click());
  expect(bytes.toString()).toBe(SMALL);
});

test('a table of no known format is read by saying what its columns are', async ({ page }) => {
  await open(page, '#v=1&tab=workload');
  const before = await digest(page);
  await dropFile(page, 'mine.csv', Buffer.from('when,words,reply\n0,5,7\n9,no,7\n20,6,8\n'));
  await expect(page.locator('.notice.error')).toContainText('mine.csv');
  await page.locator('.map-start').click();
  await expect(page.locator('.map-read')).toBeDisabled();
  await page.locator('#map-arrival').selectOption('when');
  await page.locator('[data-unit-of=arrival]').selectOption('ms');
  await page.locator('#map-input').selectOption('words');
  await page.locator('#map-output').selectOption('reply');
  await page.locator('.map-read').click();
  await expect(page.locator('source-section .source')).toHaveAttribute('data-requests', '2');
  await expect(page.locator('.bad-rows[data-rows="1"]')).toContainText('mine.csv');
  const row = page.locator('.bad-rows + .table-view tbody tr');
  await expect(row.locator('td').nth(0)).toHaveText('3');
  await expect(row.locator('td').nth(1)).toHaveText('words');
  await expect(row.locator('td').nth(2)).toContainText('no');
  await expect.poll(() => digest(page)).not.toBe(before);
});

test('bad rows are left out only when asked, and each is stated', async ({ page }) => {
  await open(page, '#v=1&tab=workload');
  await dropFile(page, 'holes.csv', Buffer.from(`${SMALL}1.5,many,20\n1.6,70\n2,30,30\n`));
  await expect(page.locator('refused-file')).toContainText('row 5');
  await expect(page.locator('source-section .generated')).toBeVisible();
  await page.locator('.leave-out').click();
  await expect(page.locator('source-section .source')).toHaveAttribute('data-requests', '4');
  await expect(page.locator('.bad-rows[data-rows="2"]')).toContainText('holes.csv');
  await expect(page.locator('.bad-rows + .table-view tbody tr')).toHaveCount(2);
});

test('three steps make what the terminal makes of them', async ({ page }) => {
  const run = terminal();
  test.skip(run === null, 'the terminal is not built');
  if (run === null) return;
  await open(page, '#v=1&R=8&tab=workload');
  await page.locator('.freeze').click();
  await expect(page.locator('source-section .source')).toHaveAttribute('data-requests', '2400');
  const frozen = await digest(page);
  const add = page.locator('.add-step');
  await add.selectOption('window');
  await page.locator('[data-field="steps.0.start_s"] input').fill('30');
  await page.locator('[data-field="steps.0.end_s"] input').fill('200');
  await add.selectOption('thin');
  await page.locator('[data-field="steps.1.keep"] input').fill('0.25');
  await add.selectOption('scale_lengths');
  await page.locator('[data-field="steps.2.input"] input').fill('1.5');
  await expect(page.locator('.step .step-note')).toHaveCount(3);
  await expect.poll(() => digest(page)).not.toBe(frozen);
  const steps = ['--step', 'window:start_s=30,end_s=200', '--step', 'thin:keep=0.25', '--step', 'scale_lengths:input=1.5'];
  await expect.poll(() => digest(page)).toBe(run('simulate', SLORA, '--set', 'workload.rate_rps=8', ...steps, '--json').digest);
  expect(decodeURIComponent(await link(page))).toContain('pipe=concat;window:start_s=30,end_s=200;thin:keep=0.25;scale_lengths:input=1.5');

  // A bound is stated at its field, the last good traffic stays, and a step can be moved and taken away.
  const good = await digest(page);
  await page.locator('[data-field="steps.1.keep"] input').fill('3');
  await expect(page.locator('[data-field="steps.1.keep"] .control-error')).toHaveAttribute('data-code', 'step.out_of_range');
  expect(await digest(page)).toBe(good);
  await page.locator('[data-step=thin] [data-tool=remove]').click();
  await expect(page.locator('.step .step-note')).toHaveCount(2);
  await page.locator('[data-step=scale_lengths] [data-tool=up]').click();
  await expect(page.locator('.step').first()).toHaveAttribute('data-step', 'scale_lengths');
});

test('several files become one', async ({ page }) => {
  await open(page, '#v=1&tab=workload');
  await dropFile(page, 'one.csv', Buffer.from(SMALL));
  await expect(page.locator('source-section .source')).toHaveCount(1);
  await page.locator('input[data-file=add]').setInputFiles({ name: 'two.csv', mimeType: 'text/csv', buffer: Buffer.from(SMALL) });
  await expect(page.locator('source-section .source')).toHaveCount(2);
  await expect(page.locator('.trace-in-use')).toHaveAttribute('data-requests', '6');
  await page.locator('#join-kind').selectOption('superpose');
  await page.locator('[data-field="join.offset_s"] input').fill('10');
  await expect(page.locator('[data-step=join] .step-note')).toContainText('10');
  await expect(page.locator('.trace-in-use')).toHaveAttribute('data-requests', '6');
});

test('a fit shows its twins beside the source, and a twin can be simulated', async ({ page }) => {
  const file = traceFile('AzureLLMInferenceTrace_code.csv');
  test.skip(file === null, 'SERVESCOPE_TRACES holds no Azure trace');
  if (file === null) return;
  await open(page, '#v=1&tab=workload');
  await dropFile(page, 'azure.csv', file.bytes);
  await expect(page.locator('source-section .source')).toHaveAttribute('data-requests', '8819');
  const source = await digest(page);
  await page.locator('.fit-run').click();
  const bursts = page.locator('table.fit tr[data-model=bursts] td');
  await expect(bursts).toHaveCount(7);
  // The single gamma misses the bursts of seconds, which is the point of showing it.
  await expect(page.locator('table.fit tr[data-model=gamma] td.miss')).not.toHaveCount(0);
  await expect(page.locator('table.fit tr[data-model=bursts] td.miss')).toHaveCount(0);
  await expect(page.locator('[data-chart=traffic_dispersion] .legend')).toContainText('single gamma');
  await page.locator('.fit-use').click();
  await expect(page.locator('source-section .source')).toContainText('twin (bursts, seed 1)');
  await expect.poll(() => digest(page)).not.toBe(source);
});

const KINDS: [string, RegExp][] = [
  ['mooncake_conversation_trace.jsonl', /\(Mooncake\): 12,031 requests/],
  ['BurstGPT_1_rows_0001-0250.csv', /\(BurstGPT\): \d+ requests/],
  ['claude_code_sessions_a.jsonl.gz', /\(agent sessions\): [\d,]+ requests/],
  ['vidur_splitwise_code.csv', /\(Vidur\): [\d,]+ requests/],
];

for (const [place, [name, printed]] of KINDS.entries()) {
  test(`${name} is read`, place === 0 ? {} : ONLY_WHOLE, async ({ page }) => {
    const file = traceFile(name);
    test.skip(file === null, `SERVESCOPE_TRACES holds no ${name}`);
    if (file === null) return;
    await open(page, '#v=1&tab=workload');
    await dropFile(page, name, file.bytes);
    await expect(page.locator('source-section .source')).toContainText(printed, { timeout: 20_000 });
    await expect(page.locator('[data-chart=traffic_gaps] canvas')).toBeVisible();
  });
}

test('a file of ServeGen’s clients says what it is and what reads it', async ({ page }) => {
  const name = 'servegen_m-small_trace_windows.csv.gz';
  const file = traceFile(name);
  test.skip(file === null, `SERVESCOPE_TRACES holds no ${name}`);
  if (file === null) return;
  await open(page, '#v=1&tab=workload');
  await dropFile(page, name, file.bytes);
  await expect(page.locator('[data-notice=file_clients]')).toContainText('generate --servegen');
});

test('request bodies carry the sampling of the settings', async ({ page }) => {
  await open(page, '#v=1&tab=workload&D=20&sds=1&st=0.5');
  await page.locator('bodies-section select[name=form]').selectOption('vllm');
  await page.locator('bodies-section input[name=model]').fill('my-model');
  const downloaded = page.waitForEvent('download');
  await page.locator('[data-export=bodies]').click();
  const download = await downloaded;
  expect(download.suggestedFilename()).toBe('bodies.jsonl');
  const lines = (await readFile(await download.path(), 'utf8')).trim().split('\n');
  expect(lines).toHaveLength(40);
  for (const line of lines) {
    const { path, body } = JSON.parse(line) as { path: string; body: Record<string, unknown> };
    expect(path).toBe('/v1/chat/completions');
    expect(body).toMatchObject({ do_sample: true, temperature: 0.5 });
  }
  if (existsSync(PROGRAM)) {
    const options = ['generate', SLORA, '--bodies', 'vllm', '--model', 'my-model'];
    const settings = ['workload.rate_rps=2', 'workload.duration_s=20', 'workload.sampling.do_sample=true', 'workload.sampling.temperature=0.5'];
    const text = execFileSync(PROGRAM, [...options, ...settings.flatMap((setting) => ['--set', setting])], { encoding: 'utf8' });
    expect(`${lines.join('\n')}\n`).toBe(text);
  }
  // What the system does not take is said at its parameter.
  await open(page, '#v=1&tab=workload&D=20&spp=-1');
  await page.locator('[data-export=bodies]').click();
  await expect(page.locator('.notice.error')).toContainText('-1');
});

test('offered tokens and sessions stand beside the rate', async ({ page }) => {
  await open(page, '#v=1&tab=workload&D=60&sk=timed');
  for (const name of ['traffic_rate', 'traffic_input_tokens', 'traffic_output_tokens', 'traffic_sessions']) {
    await expect(page.locator(`[data-chart=${name}] canvas`)).toBeVisible();
  }
});
