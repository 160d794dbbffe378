// The values under the cursor, in a small box beside it and, for readers of the screen, in one sentence.
import { html, type TemplateResult } from 'lit';
import type { Axis, ChartData } from '../simulation/types.js';
import type { Text } from '../i18n/text.js';
import { readings } from './plot.js';

export interface ReadOut { at: string; rows: { role: string; label: string; value: string }[] }

export function readOutAt(text: Text, chart: ChartData, x: number, roleName: (role: string) => string): ReadOut {
  const rows = readings(chart, x).map(({ role, value }) => ({ role, label: roleName(role), value: yValue(text, chart, role, value) }));
  return { at: positionText(text, chart, x), rows };
}

/** One request's point. */
export function readOutOfPoint(text: Text, chart: ChartData, point: { id: number; role: string; x: number; y: number }, roleName: (role: string) => string): ReadOut {
  const at = `${text.t('chart.point', { id: String(point.id) })}, ${positionText(text, chart, point.x)}`;
  return { at, rows: [{ role: point.role, label: pointLabel(text, point.role, roleName(point.role)), value: yValue(text, chart, point.role, point.y) }] };
}

/** The legend of a scatter by user names users; a point's own line says what was measured, too. */
function pointLabel(text: Text, role: string, name: string): string {
  const quantity = text.t('role.ttft');
  const isOfClient = role.startsWith('client') || role === 'ttft';
  return isOfClient && name !== quantity ? text.t('chart.point.of', { quantity, client: name }) : name;
}

/** What the heights of a chart are, and their unit, beside its title. */
export function yName(text: Text, chart: ChartData): string {
  const key = `axis.of.${chart.name}.y`;
  const name = text.named('', key);
  return name === key ? yUnit(text, chart) : name;
}

/** What lies along the axis below, and its unit. */
export function xName(text: Text, { name: chart, x }: ChartData): string {
  const key = x.kind === 'index' && x.unit !== '' ? `axis.of.${chart}.${x.unit}` : `axis.of.${chart}.x`;
  const name = text.named('', key);
  if (name !== key) return name;
  return x.kind === 'time' ? text.t('axis.of.time') : text.unit(x.unit);
}

/** What the heights of a chart are, in a word. */
export function yUnit(text: Text, { y }: ChartData): string {
  return y.unit === 'share' ? text.t('axis.share') : text.unit(y.unit);
}

/** A rule across the axis of times says a time, whatever the heights are. */
export function yValue(text: Text, { x, y }: ChartData, role: string, value: number): string {
  if (y.kind === 'index') return text.format.short(value);
  if (y.unit === 'share') return role === 'slo' ? axisValue(text, x, value) : text.format.share(value);
  return axisValue(text, y, value);
}

export function axisValue(text: Text, axis: Axis, value: number): string {
  if (axis.unit === 's') return text.format.seconds(value);
  return text.format.withUnit(text.format.short(value), text.unit(axis.unit));
}

/** Where the cursor stands: a time, a value, or the name of a category. */
function positionText(text: Text, chart: ChartData, x: number): string {
  if (chart.x.kind !== 'index') return axisValue(text, chart.x, x);
  return text.category(chart, Math.round(x));
}

export function readOutBox({ at, rows }: ReadOut, withPosition: boolean): TemplateResult {
  return html`
    <b ?hidden=${!withPosition}>${at}</b>
    <dl>${rows.map(({ role, label, value }) => html`<div><dt data-role=${role}>${label}</dt><dd>${value}</dd></div>`)}</dl>`;
}

export function readOutSentence({ at, rows }: ReadOut): string {
  return [at, ...rows.map(({ label, value }) => `${label} ${value}`)].join(', ');
}
