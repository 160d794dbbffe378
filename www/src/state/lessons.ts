// The list of lessons, and how far the reader has come in each.
import { fetchJson } from './presets.js';
import { stored, store } from './settings.js';
import type { Language } from '../i18n/format.js';
import { Topic } from '../lib/topic.js';

/** An entry of `lessons/index.json`: `explains` are the parameters whose help leads to the lesson. */
export interface LessonEntry { id: string; title: Readonly<Record<Language, string>>; about: Readonly<Record<Language, string>>; explains: readonly string[] }

const NONE: readonly LessonEntry[] = [];
/** Empty until it is asked for. */
export const lessons = new Topic<readonly LessonEntry[]>(NONE);
let fetching: Promise<void> | null = null;

/** Fetches the list, once; where it cannot be fetched, the next caller tries again. */
export function wantLessons(): Promise<void> {
  fetching ??= fetchJson('lessons/index.json').then((list) => { lessons.set(list as LessonEntry[]); }, (thrown: unknown) => {
    fetching = null;
    throw thrown;
  });
  return fetching;
}

/** What a reader has left in a lesson. `predicted` is by screen: an option's index, a point, or null where it was skipped. */
export interface Progress { screen: number; predicted: Readonly<Record<string, number | null>>; passed: boolean }

const FRESH: Progress = { screen: 0, predicted: {}, passed: false };

export function progressOf(id: string): Progress {
  try {
    const kept = JSON.parse(stored(`lesson.${id}`) ?? '{}') as Partial<Progress>;
    return { ...FRESH, ...kept };
  } catch {
    return FRESH;
  }
}

export function keepProgress(id: string, progress: Progress): void {
  store(`lesson.${id}`, JSON.stringify(progress));
}
