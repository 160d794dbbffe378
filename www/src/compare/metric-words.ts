// What a number of a run is called, and how its values are written: the metric table in the page's language.
import { COLUMNS, METRICS, USUAL, type MetricRow, type MetricUnit } from '../generated/metrics.js';
import { metrics } from '../i18n/en/metrics.js';
import { names } from '../i18n/en/names.js';
import { MISSING } from '../i18n/format.js';
import type { Text } from '../i18n/text.js';

/** The user or adapter that a metric is of; the base model is adapter -1. */
export interface Member { of: 'user' | 'adapter'; index: string }

const OF_ONE = /^per_(user|adapter)\.(-?\d*)\.(\w+)$/;

interface Found { row: MetricRow; key: string; member: Member | null }

function find(path: string): Found | null {
  const [, of, index = '', column = ''] = OF_ONE.exec(path) ?? [];
  if (of === 'user' || of === 'adapter') {
    const row = COLUMNS.find((one) => one.path === column);
    return row === undefined ? null : { row, key: '', member: { of, index } };
  }
  const single = METRICS.find((one) => one.keys.length === 0 && one.path === path);
  if (single !== undefined) return { row: single, key: '', member: null };
  const at = path.lastIndexOf('.');
  const key = path.slice(at + 1);
  const row = METRICS.find((one) => one.path === path.slice(0, at) && one.keys.includes(key));
  return row === undefined ? null : { row, key, member: null };
}

/** Whether a result has it. */
export function isMetric(path: string): boolean {
  return find(path) !== null;
}

export function memberOf(path: string): Member | null {
  return find(path)?.member ?? null;
}

/** The same metric of another user or adapter. */
export function withIndex(path: string, index: string): string {
  const [, of = '', , column = ''] = OF_ONE.exec(path) ?? [];
  return `per_${of}.${index}.${column}`;
}

interface MetricGroup { label: string; options: readonly { path: string; name: string }[] }

/** What can be measured, as groups of a menu: of the whole run, of one user, of one adapter. Those of one have the index 0. */
export function metricGroups(text: Text): readonly MetricGroup[] {
  const say = text.say(metrics);
  const columns = (of: Member['of']): MetricGroup['options'] => COLUMNS.map(({ path }) => ({ path: `per_${of}.0.${path}`, name: capital(text.find(metrics, `column.${path}`) ?? say('unknown')) }));
  return [
    { label: say('whole_run'), options: USUAL.map((path) => ({ path, name: titleOfMetric(text, path) })) },
    { label: say('by_user'), options: columns('user') },
    { label: say('by_adapter'), options: columns('adapter') },
  ];
}

/** What a metric is called in a sentence; of one user or adapter with its index. */
export function nameOfMetric(text: Text, path: string): string {
  const say = text.say(metrics);
  const found = find(path);
  if (found === null) return say('unknown');
  const { row, key, member } = found;
  const name = text.find(metrics, member === null ? `metric.${row.path}` : `column.${row.path}`) ?? say('unknown');
  if (member !== null) return ofMember(text, name, member);
  if (key === '') return name;
  const statistic = text.find(metrics, `statistic.${key}`);
  return statistic === undefined ? say('of_key', { name, key: keyName(text, row.path, key) }) : text.fill(statistic, { name });
}

function ofMember(text: Text, name: string, { of, index }: Member): string {
  const say = text.say(metrics);
  if (of === 'user') return say('of_user', { name, index });
  return index === '-1' ? say('of_base_model', { name }) : say('of_adapter', { name, index });
}

/** A reason of rejection, a check of the gateway, a class of operators or a load state. */
function keyName(text: Text, path: string, key: string): string {
  if (path === 'gateway.held') return text.find(names, `held_by.${key}`) ?? '';
  return text.find(metrics, path.endsWith('rejected') || path.endsWith('refusals') ? '' : `key.${key}`) ?? text.outcome(key);
}

/** The name at the beginning of a line. */
export function titleOfMetric(text: Text, path: string): string {
  return capital(nameOfMetric(text, path));
}

function capital(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

export function unitOf(path: string): MetricUnit {
  return find(path)?.row.unit ?? '';
}

export function isShare(path: string): boolean {
  return unitOf(path) === 'share';
}

/** Whether more of it is better; a metric of which neither is counts as one of which less is. */
export function isMoreBetter(path: string): boolean {
  return find(path)?.row.better === 'more';
}

/** A value with its unit. */
export function valueOf(text: Text, path: string, value: number | null): string {
  const { format } = text;
  if (value === null || !Number.isFinite(value)) return MISSING;
  const symbol = unitOf(path);
  if (symbol === 's') return format.seconds(value);
  if (symbol === 'share') return format.share(value);
  return format.withUnit(format.short(value), symbol === '' ? '' : text.unit(symbol));
}
