// A lesson: screens with a run each, sentences whose numbers come from it, and three questions at the end. A file a lesson
// under lessons/, fetched when it is opened.
import type { ParameterValue } from '../simulation/types.js';
import type { Language } from '../i18n/format.js';
import { fetchJson } from '../state/presets.js';
import type { Values } from '../simulation/values.js';
import type { Speed } from '../hero/speeds.js';
import { holds, type Run, type Runs } from './terms.js';

/** A text in both languages beside each other. */
export type Words = Readonly<Record<Language, string>>;
type Patch = Readonly<Record<string, ParameterValue>>;

/** One of three, of which the run says which is true: the one whose claim `when` holds. */
export interface Choice { ask: Words; why: Words; options: readonly { text: Words; when: string }[] }
/** A point on a logarithmic axis, beside the value of a term. */
export interface Point { ask: Words; why: Words; min: number; max: number; unit: Words; value: string }

export interface Screen {
  title: Words;
  /** Paragraphs; `{name}` is the value of that name, `{control}` the number that is a control. */
  text: Words;
  /** What the run says; after the prediction, where there is one. */
  result?: Words;
  /** What this screen's run differs by from the lesson's scenario. */
  set?: Patch;
  /** What the other run differs by from this one, on the same requests. */
  beside?: Patch;
  /** What the two runs are called. */
  names?: Readonly<Record<Run, Words>>;
  /** Charts of the run, or the picture of it. */
  figure?: readonly string[];
  /** How fast the picture plays; all of the run in half a minute where nothing is said. */
  speed?: Speed;
  /** The parameter whose number in the text is a control. */
  control?: string;
  values?: Readonly<Record<string, string>>;
  predict?: Choice | Point;
  claims?: readonly string[];
  /** The screen that shows where the lesson's rule fails. */
  breaks?: boolean;
}

export interface Question {
  ask: Words;
  options: readonly Words[];
  /** Index of the answer. */
  right: number;
  /** Index of the wrong answer that is chosen most, and what to say about it. */
  expected: number;
  note: Words;
  /** The screen that the answer stands on, from 1. */
  screen: number;
}

export interface Lesson { scenario: Values; screens: readonly Screen[]; questions: readonly Question[] }

export function fetchLesson(id: string): Promise<Lesson> {
  return fetchJson(`lessons/${id}.json`) as Promise<Lesson>;
}

/** The picture of the run in place of a chart. */
export const HERO = 'hero';

export function isPoint(predict: Choice | Point): predict is Point {
  return 'value' in predict;
}

/** The settings of a screen's run; `held` is what its control says. */
export function valuesOf(lesson: Lesson, screen: Screen, held?: ParameterValue): Values {
  const { control } = screen;
  return { ...lesson.scenario, ...screen.set, ...(control === undefined || held === undefined ? {} : { [control]: held }) };
}

/** Index of the option that the runs say is true; -1 while they are not there. */
export function truthOf({ options }: Choice, runs: Runs): number {
  return options.findIndex(({ when }) => holds(when, runs) === true);
}

/** Whether every question has its right answer: a guess has one chance in sixty-four. */
export function passes(questions: readonly Question[], answers: readonly (number | null)[]): boolean {
  return questions.length > 0 && questions.every(({ right }, index) => answers[index] === right);
}

/** The order in which a question's options are shown: another one after each attempt, so that places cannot be learned. */
export function orderOf(count: number, attempt: number, question: number): number[] {
  const order = Array.from({ length: count }, (_, index) => index);
  const turn = (attempt + question) % count;
  const turned = [...order.slice(turn), ...order.slice(0, turn)];
  return attempt % 2 === 0 ? turned : turned.reverse();
}
