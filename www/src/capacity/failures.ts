// Configurations that cannot be run, in one line: those with the same reason together.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import type { Row } from './capacity-state.js';
import { capacity } from '../i18n/en/capacity.js';

export function cannotRun({ capacity: found, errors }: Row): boolean {
  return found === null && errors.length > 0;
}

export function failuresLine(app: App, rows: readonly Row[], nameOf: (row: Row) => string): TemplateResult | typeof nothing {
  const { text } = app;
  const byReason = new Map<string, string[]>();
  for (const row of rows.filter(cannotRun)) {
    const why = reasonOf(app, row);
    byReason.set(why, [...(byReason.get(why) ?? []), nameOf(row)]);
  }
  if (byReason.size === 0) return nothing;
  const reported = [...byReason].map(([message, names]) => text.say(capacity)('failures.one', { configurations: text.list(names), message }));
  return html`<p class="about failures" data-failures=${rows.filter(cannotRun).length}>${reported.join(text.t('list.sentences'))}</p>`;
}

/** What is the same for every configuration that fails so; lists of what there is instead would repeat themselves. */
function reasonOf(app: App, { errors }: Row): string {
  const { text } = app;
  const [first] = errors;
  const short = errors.length === 1 && first !== undefined ? text.find(capacity, `failed.${first.code}`) : undefined;
  return short ?? text.diagnostics(errors);
}
