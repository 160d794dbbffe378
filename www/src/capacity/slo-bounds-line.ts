// The bounds that the search holds at its quantile, in words.
import { html, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { capacity } from '../i18n/en/capacity.js';
import { goalOf } from './goal.js';
import { quantileWords } from './miss.js';

export function boundsLine(app: App): TemplateResult {
  const say = app.text.say(capacity);
  const { values } = app.store.resolved;
  const goal = Object.entries(goalOf(values)).filter(([, seconds]) => seconds > 0);
  const bounds = goal.map(([name, seconds]) => `${app.text.find(capacity, `metric.${name}`) ?? name} ≤ ${app.text.format.seconds(Number(seconds))}`);
  return html`<p class="about slo-link">${say('slo.in_force', { quantile: quantileWords(app), bounds: app.text.list(bounds) })}</p>`;
}
