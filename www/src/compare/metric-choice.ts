// A menu of metrics with the chosen ones behind it: those of one user or adapter have a field for the index.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { metrics as words } from '../i18n/en/metrics.js';
import { memberOf, metricGroups, titleOfMetric, withIndex } from './metric-words.js';
import './metric-choice.css';

/** `offered` leaves out of the menu what is measured anyway. */
export function metricChoice(app: App, chosen: readonly string[], change: (chosen: readonly string[]) => void, offered: (path: string) => boolean = () => true): TemplateResult {
  const say = app.text.say(words);
  const add = (event: Event): void => {
    const select = event.target as HTMLSelectElement;
    change([...chosen, memberOf(select.value) === null ? select.value : withFreeIndex(select.value, chosen)]);
    select.value = '';
  };
  const groups = metricGroups(app.text).map(({ label, options }) => ({ label, options: options.filter(({ path }) => memberOf(path) !== null || (offered(path) && !chosen.includes(path))) }));
  return html`
    <select data-item="metric" aria-label=${say('add')} @change=${add}>
      <option value="" selected>${say('add')}</option>
      ${groups.filter(({ options }) => options.length > 0).map(({ label, options }) => html`<optgroup label=${label}>
        ${options.map(({ path, name }) => html`<option value=${path}>${name}</option>`)}</optgroup>`)}</select>
    <ul class="metric-chips">${chosen.map((metric, place) => html`<li data-chosen=${metric}>${titleOfMetric(app.text, metric)}
      ${indexOf(app, metric, (index) => { change([...new Set(chosen.map((other, at) => (at === place ? withIndex(metric, index) : other)))]); })}
      <button type="button" class="quiet" aria-label=${say('remove', { name: titleOfMetric(app.text, metric) })} title=${say('remove', { name: titleOfMetric(app.text, metric) })}
        @click=${() => { change(chosen.filter((other) => other !== metric)); }}>×</button></li>`)}</ul>`;
}

/** The first index that is not measured yet. */
function withFreeIndex(metric: string, chosen: readonly string[]): string {
  for (let index = 0; ; index += 1) {
    const path = withIndex(metric, String(index));
    if (!chosen.includes(path)) return path;
  }
}

/** Which user or adapter. */
function indexOf(app: App, metric: string, change: (index: string) => void): TemplateResult | typeof nothing {
  const member = memberOf(metric);
  if (member === null) return nothing;
  const label = app.text.say(words)(`index.${member.of}`);
  return html`<input type="number" class="index" data-item="index" min=${member.of === 'user' ? 0 : -1} step="1" aria-label=${label} title=${label}
    .value=${member.index} @change=${(event: Event) => { change((event.target as HTMLInputElement).value.trim()); }}>`;
}
