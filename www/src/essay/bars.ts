// Lengths beside each other, drawn to one scale, each with its number.
import { html, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { shownValue } from '../lessons/sentence.js';
import { valueOf, type Runs } from '../lessons/terms.js';
import { vars } from '../ui/style-vars.js';
import type { Bar } from './essay.js';

/** A length that is not zero is seen. */
const LEAST = 0.004;

/** The part of the longest that each takes; 0 where a value is not there. */
export function partsOfLongest(values: readonly (number | null)[]): number[] {
  const longest = Math.max(0, ...values.map((value) => value ?? 0));
  return values.map((value) => (value === null || value <= 0 || longest === 0 ? 0 : Math.max(LEAST, value / longest)));
}

export function barRows(app: App, bars: readonly Bar[], runs: Runs): TemplateResult {
  const { language } = app.text;
  const parts = partsOfLongest(bars.map(({ value }) => valueOf(value, runs)));
  return html`<dl class="bars">${bars.map(({ name, value, role }, index) => html`<div data-role=${role}>
    <dt>${name[language]}</dt>
    <dd><i ${vars({ '--part': `${String((parts[index] ?? 0) * 100)}%` })} aria-hidden="true"></i><b data-bar=${value}>${shownValue(app, value, runs)}</b></dd></div>`)}</dl>`;
}
