import type { Page } from '@playwright/test';
import { ALONE, chances, control, digest, expect, goTo, link, numberBox, open, openGroups, setNumber, settled, test, WHOLE } from './page.js';

const SHORT = '#v=1&D=60';

/** Sets a slider's thumb, as dragging does, without waiting for the answer. */
const DRAG = (range: HTMLInputElement, part: number): void => {
  const [min, max] = [Number(range.min), Number(range.max)];
  range.value = String(min + part * (max - min));
  range.dispatchEvent(new Event('input', { bubbles: true }));
};

const MOVES = WHOLE ? 200 : 60;

interface Slider { id: string; kind: string }

/** Each slider with what tells how it works: its values, its scale, and whether another setting has switched it off. */
async function sliders(page: Page): Promise<Slider[]> {
  return page.locator('parameter-control:has(input[type=range])').evaluateAll((found) => found.map((element) => {
    const { parameter } = element as unknown as { parameter: { id: string; type: string; slider: { scale: string } } };
    const off = element.querySelector<HTMLInputElement>('input[type=range]')?.disabled === true;
    return { id: parameter.id, kind: `${parameter.type} ${parameter.slider.scale} ${String(off)}` };
  }));
}

test(WHOLE ? 'every slider changes the digest or says why not' : 'a slider of each kind changes the digest or says why not', async ({ page }) => {
  test.setTimeout(600_000);
  await open(page, SHORT);
  const before = await digest(page);
  // The page makes the controls of closed groups when it is idle, and of opened ones at once.
  await openGroups(page);
  await expect(page.locator('details.group:not(:has(parameter-control))')).toHaveCount(0);
  const all = await sliders(page);
  expect(all.length).toBeGreaterThan(100);
  // That every parameter has an effect, or says why not, the native tests hold; here it is the sliders that are looked at.
  const kinds = [...new Map(all.map((slider) => [slider.kind, slider])).values()];
  expect(kinds.length).toBeGreaterThan(4);
  for (const { id, kind } of WHOLE ? all : kinds) {
    await goTo(page, SHORT);
    await openGroups(page);
    expect(await digest(page)).toBe(before);
    const at = control(page, id);
    const range = at.locator('input[type=range]');
    if (await range.isDisabled()) {
      await expect(at.locator('.control-reason'), id).not.toBeEmpty();
      continue;
    }
    // Places all along the track: a bound may not bind until it is far away.
    let changed = false;
    for (const part of [0.02, 0.35, 0.65, 0.98]) {
      await range.evaluate(DRAG, part);
      await settled(page);
      if (await at.locator('.control-error').isVisible()) continue;
      if ((await digest(page)) !== before) {
        changed = true;
        break;
      }
    }
    if (changed) continue;
    await at.locator('.what').click();
    const help = at.locator('.control-help');
    if (await help.getAttribute('data-changes') === 'score') continue;
    await expect(help, `${id} (${kind}) changed nothing`).toContainText(/request bod|without a tokenizer/);
  }
});

test(`${String(MOVES)} random moves lose nothing`, ALONE, async ({ page }) => {
  test.setTimeout(240_000);
  await open(page);
  const random = chances(7);
  const ids = ['workload.rate_rps', 'workload.arrivals.cv', 'workload.adapters.alpha', 'workload.adapters.count',
    'workload.input_tokens.low', 'workload.input_tokens.high', 'workload.output_tokens.low', 'workload.output_tokens.high',
    'scheduler.batch_max_tokens', 'scheduler.max_running_requests', 'scheduler.max_total_tokens', 'workload.users.count'];
  await openGroups(page);
  for (let move = 0; move < MOVES; move += 1) {
    const id = ids[Math.floor(random() * ids.length)] ?? '';
    await control(page, id).locator('input[type=range]').evaluate(DRAG, random());
    if (random() < 0.2) await page.waitForTimeout(random() * 120);
  }
  await settled(page);
  // The last move may have been refused; the address holds what was taken.
  const hash = await link(page);
  const last = await digest(page);
  await open(page, hash);
  expect(await digest(page)).toBe(last);
});

test('keys move a slider in three strides', async ({ page }) => {
  await open(page);
  const range = control(page, 'workload.rate_rps').locator('input[type=range]');
  const box = numberBox(page, 'workload.rate_rps');
  const value = async (): Promise<number> => {
    await settled(page);
    return Number(await box.inputValue());
  };
  const start = await value();
  await range.focus();
  await page.keyboard.press('ArrowRight');
  const fine = (await value()) - start;
  await page.keyboard.press('Shift+ArrowRight');
  const coarse = (await value()) - start - fine;
  await page.keyboard.press('PageUp');
  const big = (await value()) - start - fine - coarse;
  expect(fine).toBeGreaterThan(0);
  expect(coarse).toBeGreaterThan(fine);
  expect(big).toBeGreaterThan(coarse);
  await expect(range).toHaveAttribute('aria-valuetext', /req\/s/);
});

test('a double click gives the default back, and the dot goes', async ({ page }) => {
  await open(page, '#v=1&cv=4');
  const at = control(page, 'workload.arrivals.cv');
  await expect(at.locator('.dot')).toBeVisible();
  await at.locator('label').dblclick();
  await expect(numberBox(page, 'workload.arrivals.cv')).toHaveValue('1');
  await expect(at.locator('.dot')).toBeHidden();
});

test('a typed value may go beyond the slider, up to the bound', async ({ page }) => {
  await open(page);
  const at = control(page, 'workload.arrivals.cv');
  const box = numberBox(page, 'workload.arrivals.cv');
  await box.fill('20');
  await box.press('Enter');
  const good = await digest(page);
  await expect(at.locator('.control-error')).toBeHidden();
  await box.fill('500');
  await box.press('Enter');
  await expect(at.locator('.control-error')).toContainText('32');
  expect(await digest(page)).toBe(good);
  await box.fill('');
  await box.press('Enter');
  await expect(at.locator('.control-error')).toContainText('number');
  await expect(page.locator('html')).toHaveAttribute('data-state', 'ready');
  await box.fill('3');
  await box.press('Enter');
  await expect(at.locator('.control-error')).toBeHidden();
});

test('undo and redo walk through settings', async ({ page }) => {
  await open(page);
  const first = await digest(page);
  const range = control(page, 'workload.arrivals.cv').locator('input[type=range]');
  await range.focus();
  await page.keyboard.press('PageUp');
  const second = await digest(page);
  expect(second).not.toBe(first);
  await page.keyboard.press('Control+z');
  await expect.poll(() => digest(page)).toBe(first);
  await page.keyboard.press('Control+Shift+z');
  await expect.poll(() => digest(page)).toBe(second);
});

test('a change between an answer and its frame leaves the page running until its own answer', async ({ page }) => {
  await page.addInitScript(() => {
    const next = window.requestAnimationFrame.bind(window);
    const held: FrameRequestCallback[] = [];
    const frames = {
      hold: false,
      /** The digest of the last answer that is there with all its charts. */
      answered: '',
      release: () => { for (const draw of held.splice(0)) draw(performance.now()); },
      /** Until the frames are drawn that were asked for before. */
      drawn: () => new Promise((done) => { next(done); }),
    };
    Object.assign(window, { frames });
    window.requestAnimationFrame = (draw) => (frames.hold ? held.push(draw) : next(draw));
    const Spawned = window.Worker;
    window.Worker = class extends Spawned {
      constructor(...what: ConstructorParameters<typeof Worker>) {
        super(...what);
        let partly = '';
        this.addEventListener('message', ({ data }: MessageEvent<{ kind?: string; preview?: boolean; more?: boolean; summary?: { digest: string } }>) => {
          if (data.kind === 'answer' && data.preview === false) {
            partly = data.summary?.digest ?? '';
            if (data.more === false) frames.answered = partly;
          }
          if (data.kind === 'others') frames.answered = partly;
        });
      }
    };
  });
  await open(page);
  const before = await digest(page);
  await page.evaluate(async (id) => {
    const { frames } = window as unknown as { frames: { hold: boolean; drawn: () => Promise<unknown> } };
    frames.hold = true;
    await frames.drawn();
    document.querySelector(`[data-parameter="${id}"] input[type=range]`)?.dispatchEvent(new KeyboardEvent('keydown', { key: 'PageUp', bubbles: true, cancelable: true }));
  }, 'workload.arrivals.cv');
  await page.waitForFunction((digest) => (window as unknown as { frames: { answered: string } }).frames.answered !== digest, before, { polling: 20 });
  // In one task, so that the second answer cannot come before its state is read.
  const state = await page.evaluate((id) => {
    const { frames } = window as unknown as { frames: { hold: boolean; release: () => void } };
    document.querySelector(`[data-parameter="${id}"] input[type=range]`)?.dispatchEvent(new KeyboardEvent('keydown', { key: 'PageUp', bubbles: true, cancelable: true }));
    frames.hold = false;
    frames.release();
    return { ...document.documentElement.dataset };
  }, 'workload.arrivals.cv');
  expect(state['digest'], 'the first answer is drawn').not.toBe(before);
  expect(state['state']).toBe('running');
  expect(await digest(page)).not.toBe(state['digest']);
});

test('settings that do not fit together are told beside the control; the last answer stays', async ({ page }) => {
  await open(page);
  await openGroups(page);
  await setNumber(page, 'scheduler.batch_max_tokens', 200);
  const good = await digest(page);
  await control(page, 'scheduler.original_blocking').locator('input').check();
  await expect(page.locator('html')).toHaveAttribute('data-state', 'failed');
  await expect(control(page, 'scheduler.batch_max_tokens').locator('.control-error')).toContainText('3,072');
  expect(await digest(page)).toBe(good);
  await setNumber(page, 'scheduler.batch_max_tokens', 4000);
  await expect(page.locator('html')).toHaveAttribute('data-state', 'ready');
  await expect(control(page, 'scheduler.batch_max_tokens').locator('.control-error')).toBeHidden();
});

test('a bound dragged across the other is refused and the last answer stays', async ({ page }) => {
  await open(page);
  await openGroups(page);
  const good = await digest(page);
  await setNumber(page, 'workload.input_tokens.low', 600);
  await expect(control(page, 'workload.input_tokens.low').locator('.control-error')).toContainText('511');
  await expect(page.locator('html')).toHaveAttribute('data-state', 'ready');
  expect(await digest(page)).toBe(good);
});

test('a long run shows a preview, then the whole answer', ALONE, async ({ page }) => {
  await open(page, '#v=1&R=200&D=1500');
  await page.evaluate(() => {
    const note = document.querySelector('.preview-note');
    const watch = new MutationObserver(() => { if (note?.hasAttribute('hidden') === false) document.body.dataset['previewed'] = 'yes'; });
    if (note !== null) watch.observe(note, { attributes: true });
  });
  await control(page, 'workload.arrivals.cv').locator('input[type=range]').evaluate(DRAG, 0.9);
  await settled(page);
  await expect(page.locator('body')).toHaveAttribute('data-previewed', 'yes');
  await expect(page.locator('.preview-note')).toBeHidden();
});

test('keys that follow each other at once lose no step, and the controls show the last', async ({ page }) => {
  await open(page);
  const slider = page.locator('[data-parameter="workload.rate_rps"] input[type=range]');
  const before = await numberBox(page, 'workload.rate_rps').inputValue();
  const step = async (presses: number): Promise<string> => {
    await slider.evaluate((range, count) => {
      for (let press = 0; press < count; press += 1) range.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true, cancelable: true }));
    }, presses);
    await settled(page);
    return numberBox(page, 'workload.rate_rps').inputValue();
  };
  const together = await step(3);
  await slider.dblclick();
  await settled(page);
  await expect(numberBox(page, 'workload.rate_rps')).toHaveValue(before);
  await step(1);
  await step(1);
  expect(await step(1)).toBe(together);
});

/** Keeps the kinds of messages that workers send, in the page. */
const LISTEN = (): void => {
  const heard: string[] = [];
  Object.assign(window, { heard });
  window.Worker = class extends Worker {
    constructor(address: string | URL, options?: WorkerOptions) {
      super(address, options);
      this.addEventListener('message', ({ data }: MessageEvent<{ kind: string }>) => { heard.push(data.kind); });
    }
  };
};
const heard = (page: Page): Promise<string[]> => page.evaluate(() => (window as unknown as { heard: string[] }).heard);

test('a page at rest rehearses its run, and nothing changes by it', ALONE, async ({ page }) => {
  await page.addInitScript(LISTEN);
  await open(page);
  const before = await digest(page);
  await expect.poll(async () => (await heard(page)).includes('rehearsed')).toBe(true);
  expect(await digest(page)).toBe(before);
  expect((await heard(page)).filter((kind) => kind === 'answer')).toHaveLength(1);
});
