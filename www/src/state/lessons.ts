// The list of lessons, their place in a link, and how far the reader has come in each.
import { fetchJson } from './presets.js';
import type { Language } from './settings.js';
import { stored, store } from './settings.js';
import { Topic } from './topic.js';

/** An entry of `lessons/index.json`: `explains` are the parameters whose help leads to the lesson. */
export interface LessonEntry { id: string; title: Readonly<Record<Language, string>>; about: Readonly<Record<Language, string>>; explains: readonly string[] }

/** A screen of a lesson, from 1. */
export interface LessonPlace { id: string; screen: number }

const NONE: readonly LessonEntry[] = [];
/** Empty until it is asked for. */
export const lessons = new Topic<readonly LessonEntry[]>(NONE);
let fetching: Promise<void> | null = null;

/** Fetches the list, once; where it cannot be fetched, the next one who wants it tries again. */
export function wantLessons(): Promise<void> {
  fetching ??= fetchJson('lessons/index.json').then((list) => { lessons.set(list as LessonEntry[]); }, (thrown: unknown) => {
    fetching = null;
    throw thrown;
  });
  return fetching;
}

/** Of a link: "burstiness.3". */
export function lessonPlace(name: string): LessonPlace | null {
  const [, id, screen] = /^([a-z_]+)(?:\.(\d{1,2}))?$/.exec(name) ?? [];
  return id === undefined ? null : { id, screen: Math.max(1, Number(screen ?? 1)) };
}

export function lessonName({ id, screen }: LessonPlace): string {
  return `${id}.${String(screen)}`;
}

export function samePlace(one: LessonPlace | null, other: LessonPlace | null): boolean {
  return one?.id === other?.id && one?.screen === other?.screen;
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
