// What the page knows of the service: the last answer, the one before the last control was touched, and how the run in
// progress is doing.
import type { Answer } from '../simulation/protocol.js';
import type { ChartData, RequestFacts, SplitBy, Summary } from '../simulation/types.js';
import { lessonName, lessonPlace, type LessonPlace } from './lesson-place.js';
import { Topic } from '../lib/topic.js';

/** `trafficEnd`: when the last request arrives, seconds. */
export interface Shown { summary: Summary; charts: ReadonlyMap<string, ChartData>; preview: boolean; trafficEnd: number }

export interface Session {
  state: 'running' | 'ready' | 'failed';
  answer: Shown | null;
  /** The answer as it was when the last control was touched: the ghost. */
  former: Shown | null;
  /** 0..1 of the run in progress, or null. */
  progress: number | null;
}

export const TABS = ['learn', 'explore', 'plan', 'validation'] as const;
export type Tab = (typeof TABS)[number];
/** A tab, whether the traffic source of Explore is unfolded, and the screen that Learn shows (null: the list of lessons). */
export interface Place { tab: Tab; source: boolean; lesson: LessonPlace | null }
/** What links called them before. */
const FORMER: Readonly<Record<string, Tab>> = { service: 'explore', capacity: 'plan', published: 'validation' };
const SOURCE = 'traffic';
const FORMER_SOURCE = 'workload';

/** The groups of the latency breakdown. */
export const SPLITS: readonly SplitBy[] = ['adapter', 'user', 'length'];

export function splitOf(name: string | null): SplitBy {
  return SPLITS.find((split) => split === name) ?? 'adapter';
}

export interface View extends Place {
  /** Zoom of the time charts in seconds. */
  window: [number, number] | null;
  splitBy: SplitBy;
  selected: RequestFacts | null;
  /** Station whose controls and charts are marked. */
  station: string | null;
}

export function newSession(): Topic<Session> {
  return new Topic<Session>({ state: 'running', answer: null, former: null, progress: null });
}

export function newView(window: View['window'], by: string | null, tab: string | null): Topic<View> {
  return new Topic<View>({ ...placeOf(tab), window, splitBy: splitOf(by), selected: null, station: null });
}

/** The place that a link names. */
export function placeOf(name: string | null): Place {
  if (name === SOURCE || name === FORMER_SOURCE) return { tab: 'explore', source: true, lesson: null };
  const [, lesson] = /^learn\.(.+)$/.exec(name ?? '') ?? [];
  if (lesson !== undefined) return { tab: 'learn', source: false, lesson: lessonPlace(lesson) };
  return { tab: TABS.find((tab) => tab === name) ?? FORMER[name ?? ''] ?? 'explore', source: false, lesson: null };
}

/** The name of a place in a link; null for the one where a visit begins. */
export function placeName({ tab, source, lesson }: Place): string | null {
  if (tab === 'learn' && lesson !== null) return `learn.${lessonName(lesson)}`;
  if (tab !== 'explore') return tab;
  return source ? SOURCE : null;
}

/** An answer; until the charts out of sight follow, they are `former`'s. */
export function shownOf({ summary, charts, preview, options, traffic_end_s: trafficEnd }: Answer, former: Shown | null): Shown {
  const kept = options.in_sight === null ? [] : (former?.charts ?? []);
  return { summary, charts: new Map([...kept, ...chartMap(charts)]), preview, trafficEnd };
}

export function chartMap(charts: readonly ChartData[]): ReadonlyMap<string, ChartData> {
  return new Map(charts.map((chart) => [chart.name, chart]));
}

/**
 * Which answer the present one is compared with: the answer as it was when the control in hand was first touched, until
 * another control is.
 */
export class Ghost {
  #touched: string | null = null;

  /** True when `control` is another one than before, so the present answer becomes the ghost. */
  touch(control: string): boolean {
    const other = control !== this.#touched;
    this.#touched = control;
    return other;
  }
}
