// Why a parameter has no effect now; null when it has. The module decides it, with what it knows of the loaded trace. A move
// of one slider asks this of every control, so the reason comes as a key, and is put into words where it is shown.
import type { App } from '../app.js';
import type { MessageKey } from '../i18n/text.js';
import type { Condition, Parameter } from '../simulation/types.js';

/** A message, or the conditions that are not met. */
export interface Inactive { key: MessageKey | 'control.applies'; unmet: readonly Condition[] }

/** Words for the reasons of the schema that are no conditions. */
const REASONS: Readonly<Record<string, MessageKey>> = {
  file: 'control.file_decides', needs_file: 'control.file_needed', bodies: 'control.bodies', no_draw: 'control.no_draw',
};

const isMet = (condition: Condition, app: App): boolean => {
  const { values } = app.store.resolved;
  if ('any' in condition) return condition.any.some((one) => isMet(one, app));
  if ('all' in condition) return condition.all.every((one) => isMet(one, app));
  return 'in' in condition && condition.in.some((value) => String(value) === String(values[condition.parameter]));
};

/** Where a condition has its value and its parameter no effect, the conditions of that parameter stand behind it. */
function behind(app: App, condition: Condition, depth = 8): Condition[] {
  if (depth > 0 && 'parameter' in condition && isMet(condition, app)) {
    const deeper = unmetOf(app, condition.parameter).flatMap((one) => behind(app, one, depth - 1));
    if (deeper.length > 0) return deeper;
  }
  return [condition];
}

/** The conditions of a parameter that do not hold. */
export function unmetOf(app: App, id: string): Condition[] {
  const why = app.store.resolved.inactive.get(id) ?? 0;
  if (why <= 0) return [];
  return (app.parameters.get(id)?.applies ?? []).filter((_, place) => Math.floor(why / 2 ** place) % 2 === 1);
}

export function inactive(app: App, parameter: Parameter): Inactive | null {
  const why = app.store.resolved.inactive.get(parameter.id);
  if (why === undefined) return null;
  if (why < 0) return { key: REASONS[reasonName(app, why) ?? ''] ?? 'control.no_effect', unmet: [] };
  const unmet = unmetOf(app, parameter.id).flatMap((condition) => behind(app, condition));
  return unmet.length === 0 ? { key: 'control.no_effect', unmet } : { key: 'control.applies', unmet };
}

/** Whether a control can be used although runs do not depend on it: request bodies are written on this page too. */
export function isUsable(reason: Inactive | null): boolean {
  return reason === null || reason.key === 'control.bodies';
}

/** Of a reason of the schema that is no condition, its name. */
function reasonName(app: App, why: number): string | undefined {
  return why < 0 ? app.schema.reasons[-1 - why] : undefined;
}

/** A file's own number in the place of a parameter that it decides; null where it has none, undefined where no file decides it. */
export function fileValue(app: App, { id }: Parameter): number | null | undefined {
  if (reasonName(app, app.store.resolved.inactive.get(id) ?? 0) !== 'file') return undefined;
  return app.traceFile.info.value?.settings[id] ?? null;
}

/** The same as a short text that differs wherever the words do. */
export function inactiveMark(app: App, parameter: Parameter): string {
  const reason = inactive(app, parameter);
  return reason === null ? '' : `${reason.key} ${JSON.stringify(reason.unmet)}`;
}

function words(app: App, condition: Condition): string {
  const { text } = app;
  if ('any' in condition) return condition.any.map((one) => words(app, one)).join(text.t('control.or'));
  if ('all' in condition) return condition.all.map((one) => words(app, one)).join(text.t('control.and'));
  const other = app.parameters.get(condition.parameter);
  if (other === undefined) return condition.parameter;
  const name = text.label(other);
  if ('above' in condition) return text.t('control.above', { name, value: condition.above });
  if ('varied' in condition) return text.t('control.varied', { name });
  if ('check' in condition) return text.t('control.check', { name, check: condition.check });
  const [key, listed] = 'in' in condition ? ['control.condition', condition.in] as const : ['control.not', condition.not] as const;
  return text.t(key, { name, values: listed.map((value) => text.value(other, value)).join(text.t('control.or')) });
}

export function inactiveReason(app: App, parameter: Parameter): string | null {
  const { text } = app;
  const reason = inactive(app, parameter);
  if (reason === null) return null;
  if (typeof fileValue(app, parameter) === 'number') return text.t('control.file_value');
  return text.t(reason.key, { conditions: reason.unmet.map((condition) => words(app, condition)).join(text.t('control.and')) });
}
