// Why a parameter has no effect now, and what gives it one: the remedy first, the conditions behind it. The module decides both,
// with what it knows of the loaded trace. A move of one slider asks this of every control, so the reason comes as a key, and is
// put into words where it is shown.
import type { App } from '../app/app.js';
import { readChain } from '../simulation/gateway-checks.js';
import type { MessageKey } from '../i18n/text.js';
import { remedy } from '../simulation/module.js';
import type { Condition, Parameter, ScenarioPatch } from '../simulation/types.js';
import { needsOf, parametersOf, type Leaf, type Needs } from './conditions.js';

/** What of the page says whether a parameter has an effect. */
export type Situation = Pick<App, 'parameters' | 'schema' | 'store' | 'text' | 'traceFile'>;

/** A message, or the conditions that are not met. */
export interface Inactive { key: MessageKey; unmet: readonly Condition[] }

/** Words for the reasons of the schema that are no conditions. */
const REASONS: Readonly<Record<string, MessageKey>> = {
  file: 'control.file_decides', needs_file: 'control.file_needed', bodies: 'control.bodies', no_draw: 'control.no_draw',
};

/** A reader takes in this many settings of a remedy, and this many conditions. */
const MOST = 3;
/** Characters of a sentence, and of all conditions together. */
const MOST_CHARACTERS = 160;

/** The conditions of a parameter that do not hold. */
export function unmetOf(app: Situation, id: string): Condition[] {
  const why = app.store.resolved.inactive.get(id) ?? 0;
  if (why <= 0) return [];
  return (app.parameters.get(id)?.applies ?? []).filter((_, place) => Math.floor(why / 2 ** place) % 2 === 1);
}

export function inactive(app: Situation, parameter: Parameter): Inactive | null {
  const why = app.store.resolved.inactive.get(parameter.id);
  if (why === undefined) return null;
  if (why < 0) return { key: REASONS[reasonName(app, why) ?? ''] ?? 'control.no_effect', unmet: [] };
  return { key: 'control.no_effect', unmet: unmetOf(app, parameter.id) };
}

/** Whether a control can be used although runs do not depend on it: request bodies are written on this page too. */
export function isUsable(reason: Inactive | null): boolean {
  return reason === null || reason.key === 'control.bodies';
}

/** Of a reason of the schema that is no condition, its name. */
function reasonName(app: Situation, why: number): string | undefined {
  return why < 0 ? app.schema.reasons[-1 - why] : undefined;
}

/** A file's own number in the place of a parameter that it decides; null where it has none, undefined where no file decides it. */
export function fileValue(app: Situation, { id }: Parameter): number | null | undefined {
  if (reasonName(app, app.store.resolved.inactive.get(id) ?? 0) !== 'file') return undefined;
  return app.traceFile.info.value?.settings[id] ?? null;
}

/** Parameters that the words of another one depend on. */
const asked = new Map<string, readonly string[]>();

function askedBy(app: Situation, id: string): readonly string[] {
  const known = asked.get(id);
  if (known !== undefined) return known;
  const found = new Set<string>([id]);
  for (const one of found) for (const other of parametersOf(app.parameters.get(one)?.applies ?? [])) found.add(other);
  asked.set(id, [...found]);
  return [...found];
}

/** What the words are of, as a text that differs wherever they do: the settings that they depend on cost less than the words. */
export function inactiveMark(app: Situation, parameter: Parameter): string {
  const reason = inactive(app, parameter);
  if (reason === null) return '';
  const { values, inactive: bits } = app.store.resolved;
  return `${reason.key} ${askedBy(app, parameter.id).map((id) => `${String(values[id])}:${String(bits.get(id) ?? 0)}`).join()}`;
}

/** That it has no effect, in a sentence. */
export function inactiveReason(app: Situation, parameter: Parameter): string | null {
  const reason = inactive(app, parameter);
  if (reason === null) return null;
  return app.text.t(typeof fileValue(app, parameter) === 'number' ? 'control.file_value' : reason.key);
}

/** The settings that give a parameter an effect; none where no setting can. */
export function remedyOf({ store, traceFile }: Situation, { id }: Parameter, chosen: ScenarioPatch = {}): ScenarioPatch {
  return remedy({ ...store.values.value, ...chosen }, id, traceFile.info.value?.traffic) ?? {};
}

/** A remedy as a sentence; null where there is none. */
export function remedyWords({ parameters, text }: Situation, changes: ScenarioPatch): string | null {
  const settings = Object.entries(changes).flatMap(([id, value]) => {
    const parameter = parameters.get(id);
    return parameter === undefined ? [] : [text.t('control.use_one', { name: text.label(parameter), value: text.value(parameter, value) })];
  });
  if (settings.length === 0) return null;
  const sentence = (shown: number): string => {
    const list = text.list(settings.slice(0, shown));
    const more = settings.length - shown;
    return text.t('control.use', { settings: more > 0 ? text.t('control.use_more', { settings: list, count: more }) : list });
  };
  const fitting = Array.from({ length: MOST }, (_, place) => MOST - place).find((shown) => sentence(Math.min(shown, settings.length)).length <= MOST_CHARACTERS);
  return sentence(Math.min(fitting ?? 1, settings.length));
}

function needs(app: Situation, { id }: Parameter): Needs {
  const { values } = app.store.resolved;
  return needsOf({ values, parameters: app.parameters, checks: readChain(String(values['gateway.checks'] ?? '')), unmetOf: (other) => unmetOf(app, other) }, id);
}

/** What a parameter needs to have an effect: lines that must all hold, and lines of which one must. */
export interface Why { all: readonly string[]; any: readonly string[]; more: number }

/** The first of its conditions in words, as many as a reader takes in; null where there are none. */
export function whyOf(app: Situation, parameter: Parameter): Why | null {
  const { all, any } = needs(app, parameter);
  const line = (way: readonly Leaf[]): string => way.map((leaf) => words(app, leaf)).join(app.text.t('control.and'));
  const lines = [...all.map((leaf) => ({ text: line([leaf]), of: 'all' as const })), ...any.map((way) => ({ text: line(way), of: 'any' as const }))];
  const shown: typeof lines = [];
  for (const next of lines) {
    const characters = [...shown, next].reduce((sum, { text }) => sum + text.length, 0);
    if (shown.length < MOST && characters <= MOST_CHARACTERS && !shown.some(({ text }) => text === next.text)) shown.push(next);
  }
  if (shown.length === 0) return null;
  const texts = (of: 'all' | 'any'): string[] => shown.filter((one) => one.of === of).map(({ text }) => text);
  return { all: texts('all'), any: texts('any'), more: lines.length - shown.length };
}

function words({ parameters, text }: Situation, condition: Leaf): string {
  const parameter = parameters.get(condition.parameter);
  if (parameter === undefined) return '';
  const name = text.label(parameter);
  if ('above' in condition) return text.t('control.above', { name, value: text.value(parameter, condition.above) });
  if ('varied' in condition) return text.t('control.varied', { name });
  if ('check' in condition) return text.t('control.check', { name, check: text.check(condition.check) });
  const [key, listed] = 'in' in condition ? ['control.condition', condition.in] as const : ['control.not', condition.not] as const;
  return text.t(key, { name, values: listed.map((value) => text.value(parameter, value)).join(text.t('control.or')) });
}
