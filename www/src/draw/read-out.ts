// The values under the cursor, in a small box beside it and, for readers of the screen, in one sentence.
import { html, type TemplateResult } from 'lit';
import type { Axis, ChartData } from '../engine/types.js';
import type { Text } from '../i18n/text.js';
import { readings, type Reading } from './plot.js';

export interface ReadOut { at: string; rows: { role: string; label: string; value: string }[] }

export function readOutAt(text: Text, chart: ChartData, x: number): ReadOut {
  return { at: positionText(text, chart, x), rows: readings(chart, x).map((reading) => rowOf(text, chart.y, reading)) };
}

function rowOf(text: Text, axis: Axis, { role, value }: Reading): ReadOut['rows'][number] {
  return { role, label: text.named('role.', role), value: axisValue(text, axis, value) };
}

export function axisValue(text: Text, axis: Axis, value: number): string {
  if (axis.unit === 's') return text.format.seconds(value);
  if (axis.unit === '%') return text.format.share(value);
  return text.format.withUnit(text.format.short(value), text.unit(axis.unit));
}

/** Where the cursor stands: a time, a value, or the name of a category. */
function positionText(text: Text, chart: ChartData, x: number): string {
  if (chart.x.kind !== 'index') return axisValue(text, chart.x, x);
  const index = Math.floor(x);
  return text.category(chart, index);
}

export function readOutBox({ at, rows }: ReadOut, withPosition: boolean): TemplateResult {
  return html`
    <b ?hidden=${!withPosition}>${at}</b>
    <dl>${rows.map(({ role, label, value }) => html`<div><dt data-role=${role}>${label}</dt><dd>${value}</dd></div>`)}</dl>`;
}

export function readOutSentence({ at, rows }: ReadOut): string {
  return [at, ...rows.map(({ label, value }) => `${label} ${value}`)].join(', ');
}
