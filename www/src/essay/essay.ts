// The essay: figures one below the other, each with a small run of its own, sentences whose numbers come from that run, and at most two
// controls. One file beside the page, in both languages.
import type { ParameterValue, SliderRange } from '../simulation/types.js';
import type { Words } from '../lessons/lesson.js';
import type { Runs } from '../lessons/terms.js';
import { fetchJson } from '../state/presets.js';
import type { Values } from '../simulation/values.js';

type Patch = Readonly<Record<string, ParameterValue>>;

/** A slider over a part of a parameter's range. */
export interface Slide { parameter: string; label: Words; range: SliderRange }

/** One of several settings: what is known of it beside its run, and what is to be said about it alone. */
export interface Case { name: Words; set: Patch; given?: Readonly<Record<string, number>>; says?: Words; claims?: readonly string[] }
export interface Choice { label: Words; cases: readonly Case[]; /** Index of the one that is there at first. */ first: number }

export type Control = Slide | Choice;

/** A length beside others: the value of a term, in the colour of a role. */
export interface Bar { name: Words; value: string; role: string }

export interface Figure {
  /** Of its place in a document. */
  id: string;
  title: Words;
  /** Paragraphs; `{name}` is the value of that name. */
  text: Words;
  /** What this figure's run differs by from the essay's scenario. */
  set?: Patch;
  /** What the other run differs by from this one, on the same requests. */
  beside?: Patch;
  values?: Readonly<Record<string, string>>;
  claims?: readonly string[];
  controls?: readonly Control[];
  /** The chart below the picture. */
  chart?: string;
  bars?: readonly Bar[];
  /** What its users are called, where the picture tells them apart. */
  users?: readonly Words[];
  /** How many seconds the run is played in. */
  plays_s: number;
  /** Where the picture begins: before, there is nothing to see. */
  from_s: number;
  /** Seconds of arrivals that the picture shows on their way. */
  span_s: number;
  /** The time of the picture where it stands still. */
  still_s: number;
}

/** `version`: of the scenario, as in a link. */
export interface Essay { version: number; title: Words; about: Words; /** The settings of all figures. */ scenario: Values; figures: readonly Figure[] }

/** What a figure's controls say: the value of a slider, the index of a choice. */
export type Chosen = readonly ParameterValue[];

export function fetchEssay(): Promise<Essay> {
  return fetchJson('essay/essay.json') as Promise<Essay>;
}

export function isChoice(control: Control): control is Choice {
  return 'cases' in control;
}

/** What the controls say before the reader moves them. */
export function firstChosen({ scenario }: Essay, { set, controls = [] }: Figure): Chosen {
  return controls.map((control) => (isChoice(control) ? control.first : ({ ...scenario, ...set }[control.parameter] ?? control.range.min)));
}

/** The settings of a figure's run. */
export function valuesOf({ scenario }: Essay, { set, controls = [] }: Figure, chosen: Chosen): Values {
  const moved = controls.map((control, index): Patch => {
    const value = chosen[index];
    if (isChoice(control)) return control.cases[Number(value)]?.set ?? {};
    return value === undefined ? {} : { [control.parameter]: value };
  });
  return Object.assign({}, scenario, set, ...moved) as Values;
}

/** The settings of the other run; null where the figure has one run. */
export function besideOf(figure: Figure, values: Values): Values | null {
  return figure.beside === undefined ? null : { ...values, ...figure.beside };
}

/** The chosen cases. */
export function casesOf({ controls = [] }: Figure, chosen: Chosen): Case[] {
  return controls.flatMap((control, index) => (isChoice(control) ? (control.cases[Number(chosen[index])] ?? []) : []));
}

/** What is known of a run before it is computed: its settings by path, and what the chosen cases say. */
export function givenOf(essay: Essay, figure: Figure, chosen: Chosen): NonNullable<Runs['given']> {
  const given: Record<string, unknown> = {};
  for (const [path, value] of Object.entries(valuesOf(essay, figure, chosen))) {
    const parts = path.split('.');
    let at = given;
    for (const part of parts.slice(0, -1)) at = (at[part] ??= {}) as Record<string, unknown>;
    at[parts.at(-1) ?? ''] = value;
  }
  return Object.assign(given, ...casesOf(figure, chosen).map((one) => one.given)) as object;
}

/** All that the figure says for these choices, in the order in which it is read. */
export function textsOf(figure: Figure, chosen: Chosen): Words[] {
  return [figure.text, ...casesOf(figure, chosen).flatMap(({ says }) => says ?? [])];
}
