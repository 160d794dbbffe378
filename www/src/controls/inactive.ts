// Why a parameter has no effect now; null when it has. A move of one slider asks this of every control, so the reason
// comes as a key, and is put into words where it is shown.
import type { App } from '../app.js';
import type { MessageKey } from '../i18n/en.js';
import type { Parameter } from '../engine/types.js';
import { onlyAtGateway } from './borrowed.js';

type Condition = Parameter['applies'][number];

/** A message, or the conditions that are not met. */
export interface Inactive { key: MessageKey; unmet: readonly Condition[] }

const FILE_DECIDES: Inactive = { key: 'control.file_decides', unmet: [] };
const FILE_NEEDED: Inactive = { key: 'control.file_needed', unmet: [] };
const NO_EFFECT: Inactive = { key: 'control.no_effect', unmet: [] };

/** What a trace file brings with it: arrivals, adapters, users and lengths, but not how answers are drawn. */
function decidedByFile(id: string): boolean {
  return id.startsWith('workload.') && !id.startsWith('workload.sampling.') && !isTraceParameter(id);
}

function isTraceParameter(id: string): boolean {
  return id.startsWith('workload.trace.') || id.startsWith('trace.');
}

export function inactive(app: App, parameter: Parameter): Inactive | null {
  const fromFile = app.traceFile.info.value !== null;
  if (fromFile && decidedByFile(parameter.id)) return FILE_DECIDES;
  if (!fromFile && isTraceParameter(parameter.id)) return FILE_NEEDED;
  const { values, inactive: ids } = app.store.resolved;
  if (!ids.has(parameter.id) || onlyAtGateway(app, parameter)) return null;
  const unmet = parameter.applies.filter(({ parameter: id, in: allowed }) => !allowed.some((value) => String(value) === String(values[id])));
  return unmet.length === 0 ? NO_EFFECT : { key: 'control.applies', unmet };
}

/** The same as a short text that differs wherever the words do. */
export function inactiveMark(app: App, parameter: Parameter): string {
  const reason = inactive(app, parameter);
  return reason === null ? '' : reason.unmet.reduce((mark, condition) => `${mark} ${condition.parameter}`, reason.key as string);
}

export function inactiveReason(app: App, parameter: Parameter): string | null {
  const { text } = app;
  const reason = inactive(app, parameter);
  if (reason === null) return null;
  const conditions = reason.unmet.map(({ parameter: id, in: allowed }) => {
    const other = app.parameters.get(id);
    if (other === undefined) return id;
    return text.t('control.condition', {
      name: text.label(other), values: allowed.map((value) => text.value(other, value)).join(text.t('control.or')),
    });
  });
  return text.t(reason.key, { conditions: conditions.join(text.t('control.and')) });
}
