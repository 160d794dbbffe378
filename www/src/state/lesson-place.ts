// A screen of a lesson, or a figure of the essay, as a place of the page, and its name in a link.

/** A screen of a lesson, from 1. */
export interface LessonPlace { id: string; screen: number }

/** The essay is a page of its own: it leaves the settings as they are. */
export const ESSAY = 'essay';

/** Whether this is a screen of a lesson, whose run is the page's own. */
export function isScreen(place: LessonPlace | null): place is LessonPlace {
  return place !== null && place.id !== ESSAY;
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
