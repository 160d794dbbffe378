// What is to be swept, as it is typed, and as the terminal's `sweep` and the link write it.
import type { Parameter } from '../simulation/types.js';
import type { Sweep } from '../state/address.js';
import { CHAIN, NONE, USUAL } from '../simulation/gateway-checks.js';

export type Spacing = 'linear' | 'log' | 'list';

/** A parameter and how it is varied. */
export interface Axis {
  path: string;
  spacing: Spacing;
  from: string;
  to: string;
  steps: string;
  /** Of a list: with commas between them. */
  values: string;
}

export interface Form {
  x: Axis;
  /** The other axis of a heat map: a range. */
  y: Axis | null;
  /** One curve, or one map, for each of its values, which are a list. */
  by: Axis | null;
  metrics: readonly string[];
  seeds: number;
}

const USUAL_STEPS = '8';

/** As the terminal's --over takes it. */
export function axisText({ path, spacing, from, to, steps, values }: Axis): string {
  if (spacing === 'list') return `${path}=${values}`;
  return `${path}=${from}:${to}:${steps}${spacing === 'log' ? ':log' : ''}`;
}

export function axisOf(text: string): Axis {
  const at = text.indexOf('=');
  const [path, values] = [text.slice(0, at), text.slice(at + 1)];
  const [, from, to, steps, log] = /^([^:,]+):([^:,]+):(\d+)(:log)?$/.exec(values) ?? [];
  if (from === undefined || to === undefined || steps === undefined) return { path, spacing: 'list', from: '', to: '', steps: USUAL_STEPS, values };
  return { path, spacing: log === undefined ? 'linear' : 'log', from, to, steps, values: '' };
}

export function sweepOf({ x, y, by, metrics, seeds }: Form, link: string): Sweep {
  return { seeds, metrics, link, over: [x, y, by].flatMap((axis) => (axis === null ? [] : [axisText(axis)])) };
}

/** The form that made a sweep; a link may have been made by hand. */
export function formOf({ seeds, metrics, over }: Sweep): Form {
  const [x, ...others] = over.map(axisOf);
  const y = others.find(({ spacing }) => spacing !== 'list') ?? null;
  return { x: x ?? axisOf('='), y, by: others.find((axis) => axis !== y) ?? null, metrics, seeds };
}

/** A range after the first parameter makes a heat map; a list makes curves. */
export function isMap({ over }: Sweep): boolean {
  return axisOf(over[1] ?? '=').spacing !== 'list';
}

/** What a parameter is varied over before anything is typed: every option, or the range around the present value. */
export function usualAxis({ id, type, options, slider, min, max }: Parameter, present: number): Axis {
  if (type === 'choice') return { ...axisOf(`${id}=`), values: options.join() };
  if (type === 'boolean') return { ...axisOf(`${id}=`), values: 'false,true' };
  const within = (value: number): string => String(Number(Math.min(Math.max(value, min ?? -Infinity), max ?? Infinity).toPrecision(3)));
  const isLog = slider?.scale === 'log' && slider.min > 0;
  const [from, to] = present > 0 ? [present / 2, present * 2] : [slider?.min ?? 0, slider?.max ?? 1];
  const [low, high] = type === 'integer' ? [Math.max(Math.round(from), min ?? 0), Math.max(Math.round(to), Math.round(from) + 1)] : [from, to];
  return { path: id, spacing: isLog && low > 0 ? 'log' : 'linear', from: within(low), to: within(high), steps: USUAL_STEPS, values: '' };
}

/** The whole numbers from one to a few, where each is to have its curve; chains of checks from none to one that reserves KV memory. */
export function usualCurves(parameter: Parameter, present: number): Axis {
  if (parameter.type === 'choice' || parameter.type === 'boolean') return usualAxis(parameter, present);
  if (parameter.id === CHAIN) return { ...axisOf(`${parameter.id}=`), values: [NONE, USUAL, `${USUAL}|kv`].join() };
  const first = Math.max(present, 1);
  const values = [first, first * 2, first * 4].filter((value) => value <= (parameter.max ?? Infinity));
  return { ...axisOf(`${parameter.id}=`), values: values.join() };
}
