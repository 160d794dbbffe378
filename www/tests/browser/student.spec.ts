// The walk of a student who knows what an LLM is and nothing of serving: from the first screen to two answers, by what the page shows.
import { readFileSync } from 'node:fs';
import type { Page } from '@playwright/test';
import type { Lesson } from '../../src/lessons/lesson.js';
import { expect, ONLY_WHOLE, open, test } from './page.js';

const DOORS = [
  { door: 'long', lesson: 'long_prompt', words: ['TTFT', 'P99', 'iteration', 'prefill', 'S-LoRA', 'vLLM v1'], question: /why does a long prompt delay a short one/i, answer: /one iteration at a time/ },
  { door: 'burst', lesson: 'burstiness', words: ['cv', 'TTFT', 'P99'], question: /cv rises/, answer: /when requests arrive/ },
] as const;

/** Goes on to the end, and returns the words that are explained on the way, and all that was read. */
async function read(page: Page, picture: (name: string) => Promise<void>): Promise<{ explained: Set<string>; text: string }> {
  const explained = new Set<string>();
  const texts: string[] = [];
  for (;;) {
    const screen = page.locator('[data-screen]');
    await expect(screen).toBeVisible();
    const options = screen.locator('button[data-option]:enabled');
    if (await options.count() > 0) await options.first().click();
    await expect(screen.locator('[data-result]').filter({ hasText: /^…+$/ })).toHaveCount(0);
    for (const term of await screen.locator('.term').all()) {
      const word = await term.innerText();
      explained.add(word.toLowerCase());
      if (explained.size > 1) continue;
      await term.click();
      await expect(screen.locator('.definition:popover-open')).toBeVisible();
      await page.keyboard.press('Escape');
    }
    texts.push(await screen.innerText());
    await picture(`screen-${await screen.getAttribute('data-screen') ?? ''}`);
    const next = page.locator('[data-action=next]:visible');
    if (await next.count() === 0) return { explained, text: texts.join('\n') };
    await next.click();
  }
}

for (const { door, lesson, words, question, answer } of DOORS) {
  test(`the door "${door}" leads to an answer, and every word on the way is explained`, ONLY_WHOLE, async ({ page }, info) => {
    const picture = async (name: string): Promise<void> => { await page.screenshot({ path: info.outputPath(`${door}-${name}.png`) }); };
    await open(page);
    await picture('first');
    await page.locator(`[data-door=${door}]`).click();
    const { explained, text } = await read(page, picture);
    for (const word of words) expect([...explained], word).toContain(word.toLowerCase());
    // The answer is said before it is asked for.
    const asked = page.locator('fieldset', { hasText: question });
    await asked.getByText(answer).click();
    if (door === 'long') expect(text).toContain('The GPU computes one iteration at a time.');
    else {
      const [, one, five] = /P99 TTFT is ([\d.]+).s at cv 1 and ([\d.]+).s at cv 5/u.exec(text) ?? [];
      expect(Number(five)).toBeGreaterThan(5 * Number(one));
    }
    const { questions } = JSON.parse(readFileSync(new URL(`../../../static/lessons/${lesson}.json`, import.meta.url), 'utf8')) as Lesson;
    for (const [place, { right }] of questions.entries()) await page.locator(`[data-question="${String(place)}"] input[value="${String(right)}"]`).check();
    await page.locator('lesson-quiz button[type=submit]').click();
    await expect(page.locator('[data-quiz=passed]')).toBeVisible();
    await picture('passed');
  });
}
