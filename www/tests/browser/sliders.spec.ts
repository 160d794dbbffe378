import type { Page } from '@playwright/test';
import { ALONE, chances, control, digest, expect, frames, goTo, link, numberBox, open, openGroups, setNumber, settled, test, WHOLE } from './page.js';

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
    // A run may end before the next move, or not.
    if (random() < 0.2) await frames(page, Math.ceil(random() * 8));
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

test('settings that do not fit together are stated beside the control; the last answer stays', async ({ page }) => {
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

/** Every answer says that its run took a second, however fast the machine is. */
const TAKE_LONG = (): void => {
  const { get, set } = Object.getOwnPropertyDescriptor(Worker.prototype, 'onmessage') as Required<Pick<PropertyDescriptor, 'get' | 'set'>>;
  Object.defineProperty(Worker.prototype, 'onmessage', {
    get,
    set(listener: (event: MessageEvent<object>) => void) {
      set.call(this, (event: MessageEvent<object>) => {
        listener('compute_ms' in event.data ? new MessageEvent('message', { data: { ...event.data, compute_ms: 1000 } }) : event);
      });
    },
  });
};

test('a long run shows a preview, then the whole answer', async ({ page }) => {
  await page.addInitScript(TAKE_LONG);
  await open(page);
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
  await open(page, '');
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
