// The values of a message as a reader knows them: settings and choices by their names on the page, not by their keys in files.
import type { Diagnostic, Parameter } from '../simulation/types.js';
import type { Params } from './area.js';
import { names } from './en/names.js';
import type { Text } from './text.js';

export type Parameters = ReadonlyMap<string, Parameter>;

const ORDER = 'scheduler.order';
const SCHEDULER = 'scheduler.kind';
const SCHEDULE_POLICY = 'scheduler.schedule_policy';
const WEIGHTS = 'fleet.weights';
const NETWORK = 'fleet.network';
/** Keys of parameters within a text. */
const KEY = /\b[a-z][a-z0-9]*(?:[._][a-z0-9]+)+\b/g;

type Show = (value: string, text: Text, parameters: Parameters, diagnostic: Diagnostic) => string;

/** Values of a choice, with commas between them. */
const choices = (of: string | null): Show => (value, text, parameters, { path }) => {
  const parameter = parameters.get(of ?? path);
  return text.list(value.split(', ').map((one) => (parameter === undefined ? text.option(one) : text.choice(parameter, one))));
};

/** Nodes by their names as the control has them, one with the setting that it is known for. */
const networks: Show = (value, text, parameters) => {
  const parameter = parameters.get(NETWORK);
  const [name = '', ...degrees] = value.split(': ');
  const shown = [parameter === undefined ? name : text.choice(parameter, name), ...degrees].join(text.language === 'zh' ? '：' : ': ');
  return withLabels(text, parameters, shown);
};

/** Of codes whose values are no names for readers: how each is shown. */
const SHOWN: Readonly<Partial<Record<Diagnostic['code'], Readonly<Record<string, Show>>>>> = {
  unknown_parameter: { nearest: labels },
  unknown_option: { options: choices(null) },
  repeated_key: { path: labels },
  not_vllm: { scheduler: choices(SCHEDULER) },
  not_sglang: { scheduler: choices(SCHEDULER) },
  not_trtllm: { scheduler: choices(SCHEDULER) },
  order_needs_slora: { order: choices(ORDER), names: choices(ORDER), kind: choices(SCHEDULER) },
  order_not_sglang: { order: choices(ORDER) },
  order_not_trtllm: { order: choices(ORDER) },
  policy_without_priority: { policy: choices(SCHEDULE_POLICY) },
  unknown_check: { names: (value, text) => text.list(value.split(', ').map((check) => text.check(check))) },
  no_kernels_of_format: { value: choices(WEIGHTS), known: choices(WEIGHTS) },
  no_kernels_of_model: { table: (value) => value.replaceAll('_', ' ') },
  no_step_of_kind: { kind: (value, text) => text.outcome(value) },
  no_more_steps: { kind: (value, text) => text.outcome(value) },
  all_refused: { reasons: outcomes },
  some_refused: { reasons: outcomes },
  limits_too_low: { settings },
  pool_setting_without_effect: { name: labels },
  no_network: { known: networks },
};

/** Sentences of the module within a message. */
const SENTENCES: ReadonlySet<string> = new Set(['reason', 'why', 'known']);

export function shownParams(text: Text, parameters: Parameters, diagnostic: Diagnostic): Params {
  const own = SHOWN[diagnostic.code] ?? {};
  const shown = (name: string, value: string | number): string | number => {
    if (typeof value === 'number') return value;
    const show = own[name];
    if (show !== undefined) return show(value, text, parameters, diagnostic);
    const translated = name === 'reason' || name === 'why' ? reasonOf(text, parameters, diagnostic) : undefined;
    if (translated !== undefined) return translated;
    if (name === 'expected') return text.ofModule(`expected.${value}`) ?? value;
    return SENTENCES.has(name) ? withLabels(text, parameters, value) : value;
  };
  return Object.fromEntries(Object.entries(diagnostic.params).map(([name, value]) => [name, shown(name, value)]));
}

/** The module's sentence in another language; undefined where it is shown as the module has it. */
function reasonOf(text: Text, parameters: Parameters, { params }: Diagnostic): string | undefined {
  const template = text.ofModule(`reason.${String(params['reason_code'])}`);
  if (template === undefined) return undefined;
  const values = Object.entries(params).map(([name, value]) => [name, typeof value === 'string' ? withLabels(text, parameters, value) : value] as const);
  const sentence = text.fill(template, Object.fromEntries(values));
  const at = parameters.get(String(params['at']));
  return at === undefined ? sentence : text.fill(text.ofModule('reason_at') ?? '{reason}', { at: text.label(at), reason: sentence });
}

/** A text of the module with the labels of parameters in place of their keys. */
export function withLabels(text: Text, parameters: Parameters, sentence: string): string {
  return sentence.replace(KEY, (key) => {
    const parameter = parameters.get(key);
    return parameter === undefined ? key : text.label(parameter);
  });
}

function labels(value: string, text: Text, parameters: Parameters): string {
  return withLabels(text, parameters, value);
}

function outcomes(value: string, text: Text): string {
  return text.list(value.split(', ').map((reason) => text.outcome(reason)));
}

/** Settings as `PATH=VALUE`, with spaces between them. */
function settings(value: string, text: Text, parameters: Parameters): string {
  return text.list(value.split(' ').map((setting) => {
    const [path = '', of = ''] = setting.split('=');
    const parameter = parameters.get(path);
    return parameter === undefined ? of : text.say(names)('setting', { name: text.label(parameter), value: text.value(parameter, Number(of)) });
  }));
}
