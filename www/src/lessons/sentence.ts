// The sentences of a screen, with the numbers of its runs and the control in their places.
import { html, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { apart } from '../i18n/area.js';
import { lessons } from '../i18n/en/lessons.js';
import type { Screen, Words } from './lesson.js';
import { defined } from './defined.js';
import { kindOf, valueOf, type Runs } from './terms.js';
import './lesson-control.js';

/** What stands in the places of a text. */
export type Told = Pick<Screen, 'values' | 'control'>;

const CONTROL = 'control';

/** A paragraph a line; `reported` are the words of the glossary that the screen has explained before. */
export function paragraphs(app: App, words: Words, screen: Told, runs: Runs, reported: Set<number>): TemplateResult[] {
  return words[app.text.language].split('\n').map((line) => html`<p>${sentence(app, line, screen, runs, reported)}</p>`);
}

export function sentence(app: App, line: string, screen: Told, runs: Runs, reported?: Set<number>): unknown[] {
  const parts = line.split(/\{(\w+)\}/);
  return parts.map((part, index) => {
    if (index % 2 === 0) return reported === undefined ? part : defined(app, part, reported);
    const [before, after] = [(parts[index - 1] ?? '').slice(-1), (parts[index + 1] ?? '').charAt(0)];
    if (part === CONTROL) return html`${apart(before, '0')}${control(app, screen)}${apart('0', after)}`;
    const shown = shownValue(app, screen.values?.[part] ?? '0', runs);
    return html`${apart(before, shown.charAt(0))}<b class="result" data-result=${part}>${shown}</b>${apart(shown.slice(-1), after)}`;
  });
}

/** A term's value as it is written; a mark while its runs are not there. */
export function shownValue(app: App, term: string, runs: Runs): string {
  const value = valueOf(term, runs);
  return value === null ? app.text.say(lessons)('pending') : app.text.format.of(kindOf(term), value);
}

function control(app: App, screen: Told): unknown {
  const parameter = app.parameters.get(screen.control ?? '');
  return parameter === undefined ? '' : html`<lesson-control .app=${app} .parameter=${parameter}></lesson-control>`;
}
