// What people come for, as they would do it: a student, a platform engineer, a researcher. Each test is a task, and counts
// its actions.
import { join } from 'node:path';
import type { APIRequestContext, Locator, Page } from '@playwright/test';
import { capacity } from '../../src/i18n/en/capacity.js';
import { compare } from '../../src/i18n/en/compare.js';
import { figure } from '../../src/i18n/en/figure.js';
import { gateway } from '../../src/i18n/en/gateway.js';
import { measuredRun } from '../../src/i18n/en/measured_run.js';
import { opening } from '../../src/i18n/en/opening.js';
import { lessons } from '../../src/i18n/en/lessons.js';
import { search } from '../../src/i18n/en/search.js';
import { sweep } from '../../src/i18n/en/sweep.js';
import { validation } from '../../src/i18n/en/validation.js';
import { why } from '../../src/i18n/en/why.js';
import type { ParameterId } from '../../src/generated/parameters.js';
import { digest, drawn, expect, exported, link, metric, ONLY_WHOLE, open, saved, settled, shared, test } from './page.js';
import { labelOf, Person, words } from './tasks.js';

const { t } = words;
const option = (value: string, parameter: string): string => words.option(value, parameter);

/** What a lesson's card is called. */
async function lessonName(request: APIRequestContext, id: string): Promise<string> {
  const index = await (await request.get('lessons/index.json')).json() as { id: string; title: { en: string } }[];
  return index.find((lesson) => lesson.id === id)?.title.en ?? '';
}

test('a student learns what this is without doing anything', async ({ page }) => {
  await open(page);
  const welcome = page.getByRole('region', { name: t('welcome.label') });
  await expect(welcome).toBeInViewport({ ratio: 1 });
  await expect(welcome).toContainText(/simulates.*LLM/u);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Servescope');
});

test('a student sees that bursts queue although the mean rate fits', ONLY_WHOLE, async ({ page, request }) => {
  await open(page);
  const person = new Person(page);
  await person.press('button', t('tab.learn'));
  await person.press('button', new RegExp(`^${await lessonName(request, 'burstiness')}`, 'u'));
  await settled(page);
  await person.press('button', words.say(lessons)('playground'));
  await settled(page);
  const burst = await metric(page, 'ttft_s.p99');
  await expect(page.locator('.warnings')).not.toContainText('Overloaded');
  await person.set('workload.arrivals.cv', 1);
  expect(await metric(page, 'ttft_s.p99')).toBeLessThan(burst / 2);
  person.done();
});

test('a student sees a long prompt delay a short one', ONLY_WHOLE, async ({ page, request }) => {
  await open(page);
  const person = new Person(page);
  await person.press('button', t('tab.learn'));
  await person.press('button', new RegExp(`^${await lessonName(request, 'long_prompt')}`, 'u'));
  await settled(page);
  await person.press('button', words.say(lessons)('playground'));
  await settled(page);
  await person.press('heading', t('section.why'));
  const say = words.say(why);
  await expect(page.getByRole('heading', { name: say('matrix.title'), exact: true })).toBeVisible();
  await person.press('button', new RegExp(`^${say('matrix.user', { index: '\\d+' })}$`, 'u'), page.getByRole('table', { name: say('matrix.caption') }));
  await person.press('button', /^Request \d+: /u);
  await expect(page.getByRole('heading', { name: /^Request \d+$/u })).toBeVisible();
  await expect(page.locator('request-why')).toContainText(/(behind|beside) \d+ requests? of user/u);
  person.done();
});

test('a student sees what continuous batching gains over static batches', ONLY_WHOLE, async ({ page, request }) => {
  const story = await storyName(request, 'static_batch');
  await open(page);
  const person = new Person(page);
  await person.press('button', t('tab.learn'));
  await person.press('button', story);
  await settled(page);
  await expect(page.getByRole('heading', { name: 'Static and continuous batching' })).toBeInViewport();
  const cells = await storyRow(page, 'ttft_p50');
  expect(cells.without).toBeGreaterThan(2 * cells.with);
  person.done();
});

test('a student sees what too little memory does', ONLY_WHOLE, async ({ page, request }) => {
  const story = await storyName(request, 'kv_memory');
  await open(page);
  const person = new Person(page);
  await person.press('button', t('tab.learn'));
  await person.press('button', story);
  await settled(page);
  const cells = await storyRow(page, 'ttft_p50');
  expect(cells.without).toBeGreaterThan(2 * cells.with);
  person.done();
});

test('a student sees memory, not compute, limit a small server', async ({ page }) => {
  await open(page);
  const person = new Person(page);
  await person.press('button', t('tab.learn'));
  await person.press('button', /^A small server/u);
  await settled(page);
  const cells = await storyRow(page, 'ttft_p99');
  expect(cells.with).toBeGreaterThan(5 * cells.without);
  person.done();
});

test('a student sees a quota protect others from a greedy user', ONLY_WHOLE, async ({ page, request }) => {
  const { words: story } = await (await request.get('presets/greedy_user.json')).json() as { words: { en: { title: string } } };
  await open(page);
  const person = new Person(page);
  await person.press('button', t('tab.learn'));
  await person.press('button', new RegExp(`^${story.en.title}`, 'u'));
  await settled(page);
  await expect(page.getByRole('heading', { name: story.en.title })).toBeVisible();
  // Another user than the greedy one.
  const { without, with: kept } = await storyRow(page, 'ttft_mean.1');
  expect(without).toBeGreaterThan(5 * kept);
  const say = words.say(gateway);
  await person.press('button', new RegExp(`^${say('story.show')}`, 'u'));
  await settled(page);
  person.done();
});

test('an engineer loads a trace that breaks the limits, and raises them', ONLY_WHOLE, async ({ page }) => {
  await open(page);
  const person = new Person(page);
  await person.press('button', t('menu.open'));
  const chooser = page.waitForEvent('filechooser');
  await person.press('button', words.say(opening)('files'));
  person.actions += 1;
  await (await chooser).setFiles({ name: 'long.csv', mimeType: 'text/csv', buffer: Buffer.from('arrival_s,input_tokens,output_tokens\n0,5000,100\n1,100,20\n2,2500,2000\n') });
  await expect(page.getByRole('button', { name: t('limits.raise') })).toBeVisible();
  expect(await metric(page, 'requests.rejected_total')).toBe(2);
  await person.press('button', t('limits.raise'));
  await expect.poll(() => metric(page, 'requests.rejected_total')).toBe(0);
  person.done();
});

test('an engineer chooses GPU, model, engine and replicas', async ({ page }) => {
  await open(page);
  const person = new Person(page);
  await person.choose('scheduler.kind', option('vllm_v1', 'scheduler.kind'));
  await person.choose('fleet.gpu', 'NVIDIA H100 SXM5');
  await person.choose('fleet.model', 'Llama-3.1-8B');
  await person.set('fleet.replicas', 4);
  await expect(page.locator('html')).toHaveAttribute('data-state', 'ready');
  expect(await metric(page, 'requests.rejected_total')).toBe(0);
  const address = await link(page);
  for (const part of ['mdl=llama-3.1-8b', 'rep=4']) expect(address).toContain(part);
  person.done();
});

test('an engineer sees whether the SLO holds, and by which bounds', ONLY_WHOLE, async ({ page }) => {
  await open(page);
  const met = page.locator('[data-metric="slo.attainment_all"]');
  await expect(met.locator('.slo-bounds')).toHaveText(/TTFT ≤ 6/u);
  const before = await metric(page, 'slo.attainment_all');
  const person = new Person(page);
  await person.find('slo.tbt_s');
  await person.set('slo.tbt_s', 0.1);
  await expect(met.locator('.slo-bounds')).toHaveText(/TBT ≤ /u);
  expect(await metric(page, 'slo.attainment_all')).toBeLessThan(before);
  person.done();
});

test('an engineer finds the cheapest hardware for the load', ONLY_WHOLE, async ({ page }) => {
  const say = words.say(capacity);
  await open(page);
  const person = new Person(page);
  await person.press('button', t('tab.plan'));
  await person.press('button', say('hardware.start'));
  // The search begins by itself, without a tick.
  await expect(page.locator('capacity-page')).toHaveAttribute('data-state', 'ready', { timeout: 40_000 });
  const table = page.locator('table.ranking');
  expect(await table.locator('tbody tr').count()).toBeGreaterThan(1);
  const headings = await table.getByRole('columnheader').allTextContents();
  const at = headings.findIndex((heading) => heading.trim().startsWith(say('column.load_usd')));
  const costs = (): Promise<number[]> => table.locator('tbody tr').evaluateAll((rows, column) => rows.map((row) => Number(row.children[column]?.textContent)), at);
  await expect.poll(async () => (await costs()).every((cost) => cost > 0), { timeout: 40_000 }).toBe(true);
  const [first, second] = await costs();
  expect(first).toBeLessThanOrEqual(second ?? NaN);
  person.done();
});

test('an engineer with agents sees whether a CPU tier is worth it, and whether another router is', async ({ page, request }) => {
  const say = words.say(gateway);
  const lesson = await lessonName(request, 'agents');
  const stories = await Promise.all(['will_host_cache', 'will_router'].map(async (id) => (await request.get(`presets/${id}.json`)).json() as Promise<AboutStory>));
  await open(page, '');
  const person = new Person(page);
  for (const { words: { en } } of stories) {
    await person.key('/');
    const dialog = page.getByRole('dialog', { name: words.say(search)('label'), exact: true });
    await expect(dialog.getByRole('combobox')).toBeFocused();
    await person.type('agent');
    // Lessons are fetched and put in above the others: an option that is pressed before moves away from the mouse.
    await expect(dialog.getByRole('option', { name: lesson })).toBeVisible();
    await person.press('option', startsWith(en.title), dialog);
    await settled(page);
    const table = page.getByRole('table', { name: say('story.label', { name: en.title }), exact: true });
    await expect(table).toBeInViewport();
    const sides = [await columnOf(table, en.without), await columnOf(table, en.with)] as const;
    const slowest = table.getByRole('row', { name: startsWith(say('story.ttft_p99')) });
    const [without, withIt] = [await secondsIn(slowest, sides[0]), await secondsIn(slowest, sides[1])];
    expect(without, en.title).toBeGreaterThan(1.3 * withIt);
  }
  person.done();
});

/** Asks the search a question, and chooses the story that answers it: three actions. */
async function ask(person: Person, question: string, story: AboutStory, findsLessons = true): Promise<Locator> {
  const { page } = person;
  const { words: { en } } = story;
  await person.key('/');
  const dialog = page.getByRole('dialog', { name: words.say(search)('label'), exact: true });
  await expect(dialog.getByRole('combobox')).toBeFocused();
  await person.type(question);
  // Lessons are fetched and put in above the others: an option that is pressed before moves away from the mouse.
  await expect(findsLessons ? dialog.locator('[data-found=lesson]').first() : dialog.getByRole('option', { name: startsWith(en.title) }).first()).toBeVisible();
  await person.press('option', startsWith(en.title), dialog);
  await settled(page);
  const table = page.getByRole('table', { name: words.say(gateway)('story.label', { name: en.title }), exact: true });
  await expect(table).toBeInViewport();
  return table;
}

/** Looks a setting up by its name, and gives it a value: five actions. */
async function turn(person: Person, id: ParameterId, value: number): Promise<void> {
  const { page } = person;
  await person.key('/');
  const dialog = page.getByRole('dialog', { name: words.say(search)('label'), exact: true });
  await expect(dialog.getByRole('combobox')).toBeFocused();
  await person.type(labelOf(id));
  await expect(dialog.getByRole('option', { name: startsWith(labelOf(id)) }).first()).toBeVisible();
  await person.press('option', startsWith(labelOf(id)), dialog);
  await person.set(id, value);
}

/** The times in a row of a story's table, without and with. */
async function timesIn(table: Locator, row: string, { words: { en } }: AboutStory): Promise<{ without: number; with: number }> {
  const cells = table.getByRole('row', { name: startsWith(row) });
  return { without: await secondsIn(cells, await columnOf(table, en.without)), with: await secondsIn(cells, await columnOf(table, en.with)) };
}

test('an engineer asks why ITL is spiky on SGLang', async ({ page, request }) => {
  const say = words.say(gateway);
  const story = await (await request.get('presets/will_sglang.json')).json() as AboutStory;
  await open(page, '');
  const person = new Person(page);
  const table = await ask(person, 'why is my ITL spiky on SGLang?', story);
  const longest = await timesIn(table, say('story.tbt_max'), story);
  expect(longest.with).toBeGreaterThan(1.5 * longest.without);
  // The cause is seen: requests are stalled in their seats on SGLang, and on vLLM they are not.
  const stalled = (side: 'with' | 'without'): Locator => page.getByRole('figure', { name: startsWith(say('story.chart', { chart: t('chart.seats'), run: story.words.en[side] })) }).getByText(t('role.stalled'), { exact: true });
  await expect(stalled('with')).toBeVisible();
  await expect(stalled('without')).toHaveCount(0);
  person.done(6);
});

test('an engineer asks whether MTP is worth it at the batch', async ({ page, request }) => {
  const say = words.say(gateway);
  const story = await (await request.get('presets/will_drafts.json')).json() as AboutStory;
  await open(page, '');
  const person = new Person(page);
  const table = await ask(person, 'is MTP worth it at my batch?', story);
  const [first, each] = [await timesIn(table, say('story.ttft_p50'), story), await timesIn(table, say('story.tpot_mean'), story)];
  expect(first.with).toBeGreaterThan(1.3 * first.without);
  expect(each.with).toBeGreaterThan(0.8 * each.without);
  // At half of the requests a second the batch is small.
  await person.set('workload.rate_rps', 20);
  await expect.poll(async () => { const { without, with: drafts } = await timesIn(table, say('story.tpot_mean'), story); return drafts / without; }).toBeLessThan(0.65);
  person.done(6);
});

test('an engineer asks whether to split prefill and decode, and how many of each', async ({ page, request }) => {
  const say = words.say(gateway);
  const story = await (await request.get('presets/will_apart.json')).json() as AboutStory;
  await open(page, '');
  const person = new Person(page);
  const table = await ask(person, 'should I split prefill and decode?', story, false);
  const [first, each] = [await timesIn(table, say('story.ttft_p99'), story), await timesIn(table, say('story.tpot_mean'), story)];
  expect(each.with).toBeLessThan(0.9 * each.without);
  expect(first.with).toBeGreaterThan(first.without);
  // With more of the replicas for prompts the first token comes sooner.
  await turn(person, 'fleet.disaggregation.prefill_replicas', 5);
  await expect.poll(async () => metric(page, 'ttft_s.p99')).toBeLessThan(0.8 * first.with);
  person.done(8);
  // Plan compares every split of three replicas, and none, at the same price.
  await open(page, '#preset=will_apart&rep=3&dpn=1&R=4');
  await person.press('button', t('tab.plan'));
  await expect(page.locator('capacity-page')).toHaveAttribute('data-state', 'ready', { timeout: 40_000 });
  await expect(page.locator('table.ranking tbody tr')).toHaveCount(3);
  await expect(page.locator('[data-plan="answer"]')).toHaveText(/^With prefill replicas \d /u, { timeout: 40_000 });
});

test('an engineer asks what an autoscaler would do', async ({ page, request }) => {
  const say = words.say(gateway);
  const story = await (await request.get('presets/will_autoscale.json')).json() as AboutStory;
  await open(page, '');
  const person = new Person(page);
  const table = await ask(person, 'what if I autoscale?', story);
  const tail = async (): Promise<{ without: number; with: number }> => timesIn(table, say('story.ttft_p99'), story);
  const burst = await tail();
  expect(burst.with).toBeGreaterThan(0.9 * burst.without);
  // Replicas that are ready in a few seconds serve the burst.
  await turn(person, 'fleet.cold_start.delay_s', 2);
  await expect.poll(async () => { const now = await tail(); return now.with / now.without; }).toBeLessThan(0.9);
  person.done(8);
});

test('an engineer sees one user beside the others', async ({ page }) => {
  await open(page);
  const person = new Person(page);
  await person.set('workload.users.count', 4);
  await person.press('button', t('who.users'));
  const table = page.getByRole('table', { name: t('who.caption_users', { shown: 4, all: 4 }) });
  await expect(table.getByRole('row')).toHaveCount(5);
  await person.press('button', t('who.ttft_p99'), table);
  await expect(table.getByRole('columnheader', { name: t('who.ttft_p99') })).toHaveAttribute('aria-sort', /ending$/u);
  person.done();
});

test('an engineer sets a token quota, exports, shares the link and repeats it in a terminal', ONLY_WHOLE, async ({ page, context, request }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const { words: story } = await (await request.get('presets/small_quota.json')).json() as { words: { en: { title: string } } };
  await open(page);
  const person = new Person(page);
  await person.press('button', t('tab.learn'));
  await person.press('button', new RegExp(`^${story.en.title}`, 'u'));
  const of = await digest(page);
  await expect(page.locator('.warnings')).not.toContainText('Overloaded');
  person.actions += 2;
  expect((JSON.parse(await exported(page, 'summary.json')) as { digest: string }).digest).toBe(of);
  person.actions += 2;
  await shared(page, 'link');
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toContain('#v=');
  const address = await page.evaluate(() => navigator.clipboard.readText());
  person.actions += 1;
  await page.goto('about:blank');
  await page.goto(address);
  expect(await digest(page)).toBe(of);
  person.done();
});

test('a researcher compares FCFS with VTC for two users of whom one sends most', ONLY_WHOLE, async ({ page }) => {
  const say = words.say(compare);
  await open(page);
  const person = new Person(page);
  await person.set('workload.users.count', 2);
  // More than the server can serve: only then the order matters.
  await person.set('workload.rate_rps', 2.2);
  await person.press('heading', t('section.compare'));
  await person.press('button', say('title.pin'));
  await person.press('heading', t('group.queue'));
  await person.choose('scheduler.order', option('vtc', 'scheduler.order'));
  await expect(page.locator('[data-compare]')).toHaveAttribute('data-compare', 'ready', { timeout: 40_000 });
  const table = page.getByRole('region', { name: say('difference') }).getByRole('table');
  const end = async (name: 'median' | 'P90', side: 'low' | 'high'): Promise<number> =>
    Number(await table.getByRole('row', { name: new RegExp(`^${name} TTFT`, 'iu') }).getAttribute(`data-${side}`));
  // Requests of the user who sends less pass those of the other: half of all come sooner, and the last ones later.
  expect(await end('median', 'high')).toBeLessThan(0);
  expect(await end('P90', 'low')).toBeGreaterThan(0);
  person.done();
});

test('a researcher sees how sure the numbers are without doing anything', ONLY_WHOLE, async ({ page }) => {
  await open(page);
  await expect(page.locator('.headline.first')).toHaveAttribute('data-seeds', 'done', { timeout: 20_000 });
  await expect(page.locator('[data-metric="ttft_s.p99"] .metric-range')).toHaveText(/\d.* to .*\d/u);
});

test('a researcher holds the simulator against a paper', ONLY_WHOLE, async ({ page }) => {
  await open(page);
  const person = new Person(page);
  await person.press('button', t('tab.validation'));
  await expect(page.locator('validation-page')).toContainText(/off by [\d.]+\s%\son average, [\d.]+\s%\sat most/u, { timeout: 40_000 });
  await person.press('link', new RegExp(`^${words.say(validation)('open')} `, 'u'));
  await settled(page);
  await expect(page.getByRole('button', { name: t('tab.explore') })).toHaveAttribute('aria-current', 'page');
  person.done();
});

test('a researcher follows one request', async ({ page }) => {
  await open(page);
  const person = new Person(page);
  // Keys move between points that are drawn. To scroll there is an action, and so is to focus it.
  await drawn(page, 'ttft_by_arrival');
  person.actions += 2;
  await page.getByRole('slider', { name: t('chart.ttft_by_arrival'), exact: true }).focus();
  await person.key('Shift+ArrowRight');
  await person.key('Shift+ArrowRight');
  await person.key('Enter');
  await expect(page.getByRole('heading', { name: /^Request \d+$/u })).toBeVisible();
  await expect(page.locator('request-why')).toContainText(/Took [\d.,]+\sm?s/u);
  person.done();
});

/** The name of a story's button on the Learn tab: a lesson may have the same title. */
test('an engineer sets a vllm serve line beside the present settings', ONLY_WHOLE, async ({ page }) => {
  const say = words.say(opening);
  await open(page, '');
  const person = new Person(page);
  await person.press('button', t('welcome.paste'));
  const box = page.getByRole('dialog', { name: say('title') });
  person.actions += 2;
  await box.getByRole('textbox').fill('vllm serve meta-llama/Llama-3.1-8B-Instruct --max-num-seqs 32 --foo 1');
  await expect(box).toContainText('--foo');
  await box.getByRole('combobox').selectOption({ label: 'NVIDIA H200 SXM' });
  await person.press('button', say('open'));
  await settled(page);
  expect(await link(page)).toMatch(/gpu=h200_sxm.*|mdl=llama/u);
  expect(await metric(page, 'throughput_rps')).toBeGreaterThan(0);
  person.done();
});

test('an engineer holds a benchmark of a server against the simulation', ONLY_WHOLE, async ({ page }) => {
  await open(page);
  const person = new Person(page);
  await person.press('button', t('menu.open'));
  const asked = page.waitForEvent('filechooser');
  await person.press('button', words.say(opening)('files'));
  person.actions += 1;
  await (await asked).setFiles(join(import.meta.dirname, '../../../tests/data/overlay/llmservingsim/requests.jsonl'));
  await expect(page.locator('measured-run-section')).toHaveAttribute('data-state', 'ready', { timeout: 60_000 });
  const section = page.locator('measured-run-section');
  // No verdict before the server is said.
  for (const missing of await section.locator('[data-missing]').all()) {
    person.actions += 1;
    const wanted = await missing.getAttribute('data-missing') === 'fleet.gpu' ? 'h100_sxm' : 'llama-3.1-8b';
    await missing.selectOption(wanted);
  }
  await person.press('button', words.say(measuredRun)('question.compare'), section);
  await expect(section.locator('[data-culprit]')).toHaveCount(1);
  await expect(section).toContainText(/TPOT/u);
  person.done();
});

test('an engineer finds the cause of a spike of P99 TTFT', ONLY_WHOLE, async ({ page }) => {
  await open(page, '');
  const person = new Person(page);
  await person.press('heading', t('section.why'));
  const say = words.say(why);
  await expect(page.getByRole('heading', { name: say('matrix.title'), exact: true })).toBeVisible({ timeout: 40_000 });
  await expect(page.locator('.why-section, why-section')).toContainText(/LoRA slot/u);
  await person.press('button', new RegExp(`^${say('matrix.user', { index: '\\d+' })}$`, 'u'), page.getByRole('table', { name: say('matrix.caption') }));
  await person.press('button', /^Request \d+: /u);
  await expect(page.getByRole('heading', { name: /^Request \d+$/u })).toBeVisible();
  await expect(page.locator('request-why').first()).toContainText(/Took [\d.,]+\sm?s/u);
  person.done();
});

test('a researcher sweeps burstiness for two policies', ONLY_WHOLE, async ({ page }) => {
  const say = words.say(sweep);
  await open(page);
  const person = new Person(page);
  await person.press('heading', t('section.sweep'));
  const section = page.locator('[data-sweep]');
  person.actions += 4;
  await section.locator('[data-axis=x] [data-item=parameter]').selectOption('workload.arrivals.cv');
  await section.locator('[data-axis=by] [data-item=parameter]').selectOption('scheduler.order');
  await section.locator('[data-axis=by] [data-option=fcfs]').setChecked(true);
  await section.locator('[data-axis=by] [data-option=vtc]').setChecked(true);
  await person.press('button', say('run'), section);
  await expect(section).toHaveAttribute('data-sweep', 'ready', { timeout: 60_000 });
  await drawn(page, 'sweep_ttft_s.p99');
  person.done();
});

test('a researcher takes a figure for a paper, and cites the run', ONLY_WHOLE, async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const say = words.say(figure);
  await open(page, '');
  const of = await digest(page);
  const person = new Person(page);
  const chart = page.locator('[data-chart=latency_cdf]');
  person.actions += 2;
  await chart.locator('.menu > button').click();
  await chart.locator('[data-item=figure]').click();
  const dialog = page.getByRole('dialog');
  await expect(dialog.locator('.figure-preview > svg')).toHaveAttribute('width', '84mm');
  person.actions += 1;
  const { bytes } = await saved(page, () => dialog.getByRole('button', { name: say('svg') }).click());
  expect(bytes.toString()).toContain('latency, s');
  await person.press('button', say('copy.bibtex'), dialog);
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toContain(of);
  person.done();
});

test('a teacher finds links, sequences and expected wrong answers for a class', ONLY_WHOLE, async ({ page }) => {
  await open(page);
  const person = new Person(page);
  await person.press('button', t('tab.learn'));
  await person.press('button', words.say(lessons)('presenter'));
  await expect(page.locator('html')).toHaveClass(/presenter/u);
  await person.press('link', words.say(lessons)('class'));
  await expect(page.getByRole('heading', { name: 'For a class' })).toBeVisible();
  await expect(page.locator('main, body').first()).toContainText('expected wrong answer');
  person.done();
});

async function storyName(request: APIRequestContext, id: string): Promise<RegExp> {
  const { words: { en } } = await (await request.get(`presets/${id}.json`)).json() as { words: { en: { title: string; about: string } } };
  return new RegExp(`${startsWith(en.title).source}.*${literal(en.about)}`, 'u');
}

/** What a story's file says of it. */
interface AboutStory { words: { en: { title: string; with: string; without: string } } }

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

function startsWith(text: string): RegExp {
  return new RegExp(`^${literal(text)}`, 'u');
}

/** In which column of a table the heading begins with this, the names of rows left out. */
async function columnOf(table: Locator, heading: string): Promise<number> {
  const names = await table.getByRole('columnheader').allTextContents();
  const place = names.findIndex((name) => name.trim().startsWith(heading));
  expect(place, heading).toBeGreaterThan(0);
  return place - 1;
}

/** The time in a cell, once it is computed. */
async function secondsIn(row: Locator, column: number): Promise<number> {
  const cell = row.getByRole('cell').nth(column);
  await expect(cell).toHaveText(/\d/u, { timeout: 20_000 });
  return secondsOf(await cell.textContent() ?? '');
}

function secondsOf(text: string): number {
  const [, value, unit] = /([\d.,]+)\s*(\S*)/u.exec(text) ?? [];
  return Number((value ?? '').replaceAll(',', '')) * (unit === 'ms' ? 0.001 : unit === 'min' ? 60 : 1);
}

/** A number of a story's table on either side. */
async function storyRow(page: Page, row: string): Promise<{ with: number; without: number }> {
  const of = async (side: string): Promise<number> => {
    const cell = page.locator(`.story-table [data-row="${row}"] td[data-side="${side}"]`);
    await expect(cell).toHaveText(/\d/u, { timeout: 20_000 });
    return secondsOf(await cell.textContent() ?? '');
  };
  return { with: await of('with'), without: await of('without') };
}
