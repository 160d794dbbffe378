// Each lesson in Firefox, from its first screen to its last question.
import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { lessons as words } from '../../src/i18n/en/lessons.js';
import type { Lesson } from '../../src/lessons/lesson.js';
import type { LessonEntry } from '../../src/state/lessons.js';
import { Firefox } from './firefox.js';

const FOLDER = new URL('../../../static/lessons/', import.meta.url);
const read = (name: string): unknown => JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), 'utf8'));

let firefox: Firefox;

beforeAll(async () => { firefox = await Firefox.start(); });
afterAll(() => firefox.stop());
afterEach(() => { expect(firefox.trouble.splice(0)).toEqual([]); });

const button = (name: string): string => `::-p-aria([name="${name.replaceAll('"', '\\"')}"][role="button"])`;

for (const { id } of read('index') as LessonEntry[]) {
  it(`the lesson ${id} is walked`, async () => {
    const { screens, questions } = read(id) as Lesson;
    await firefox.open(`#v=4&tab=learn.${id}.1`);
    for (const [place, screen] of screens.entries()) {
      await firefox.seen(`[data-lesson=${id}] [data-screen="${String(place + 1)}"], [data-lesson=${id}][data-screen="${String(place + 1)}"]`);
      await firefox.settled();
      if (screen.predict !== undefined) await firefox.press(`lesson-view ${button(words.english['predict.skip'])}`);
      await firefox.page.waitForFunction(() => [...document.querySelectorAll('lesson-view [data-result]')].every(({ textContent }) => !/^…+$/.test(textContent)));
      await firefox.press(`lesson-view ${button(words.english.next)}`);
    }
    for (const [place, { right }] of questions.entries()) await firefox.press(`[data-question="${String(place)}"] input[value="${String(right)}"]`);
    await firefox.press(`lesson-quiz ${button(words.english['quiz.check'])}`);
    await firefox.seen('lesson-quiz form[data-quiz=passed]');
  });
}
