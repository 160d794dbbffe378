// What a sweep's parameters, values and metrics are called in the page's language.
import type { App } from '../app/app.js';
import { titleOfMetric, valueOf } from '../compare/metric-words.js';
import { sweep } from '../i18n/en/sweep.js';
import type { ParameterValue, SweepCell, SweepExpected } from '../simulation/types.js';

export function metricName({ text }: App, path: string): string {
  return titleOfMetric(text, path);
}

export function parameterName(app: App, path: string): string {
  const parameter = app.parameters.get(path);
  return parameter === undefined ? path : app.text.label(parameter);
}

export function parameterValue(app: App, path: string, value: ParameterValue): string {
  const parameter = app.parameters.get(path);
  return parameter === undefined ? String(value) : app.text.value(parameter, value);
}

/** A number of a range may have nine digits. */
function shortValue(app: App, path: string, value: ParameterValue): string {
  const { format } = app.text;
  const parameter = app.parameters.get(path);
  if (parameter?.type !== 'number' || typeof value !== 'number') return parameterValue(app, path, value);
  return format.withUnit(format.short(value), app.text.unit(parameter.unit));
}

/** Parameters with their values, such as those of a point. */
export function settingsName(app: App, point: Readonly<Record<string, ParameterValue>>): string {
  const say = app.text.say(sweep);
  return app.text.list(Object.entries(point).map(([path, value]) => say('setting', { name: parameterName(app, path), value: shortValue(app, path, value) })));
}

/** The values that distinguish a curve from the others: the names of options stand for themselves. */
export function curveName(app: App, point: Readonly<Record<string, ParameterValue>>): string {
  const [only, ...others] = Object.entries(point);
  const named = only !== undefined && others.length === 0 && (app.parameters.get(only[0])?.options.length ?? 0) > 0;
  return named ? parameterValue(app, only[0], only[1]) : settingsName(app, point);
}

/** A closed form's name: some have none in the notation of Kendall. */
export function closedFormName({ text }: App, model: string): string {
  return text.find(sweep, `closed_form.${model}`) ?? model;
}

/** A setting that breaks the conditions of a closed form, and what the closed form needs of it. */
export function obstacleText(app: App, { path, value, kind, wanted }: SweepExpected['obstacles'][number]): string {
  const needed = wanted.map((one) => parameterValue(app, path, one)).join(' / ');
  const values = { name: parameterName(app, path), value: parameterValue(app, path, value), needed };
  return app.text.say(sweep)(`obstacle.${kind}`, values);
}

/** The mean, and its interval where there is one. */
export function cellText({ text }: App, path: string, { mean, low, high }: SweepCell): string {
  const value = valueOf(text, path, mean);
  if (low === null || high === null || low === high) return value;
  return text.say(sweep)('cell', { value, low: valueOf(text, path, low), high: valueOf(text, path, high) });
}
