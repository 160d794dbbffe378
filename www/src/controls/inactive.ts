// Why a parameter has no effect now, in words; null when it has.
import type { App } from '../app.js';
import type { Parameter } from '../engine/types.js';
import { onlyAtGateway } from './borrowed.js';

/** What a trace file brings with it: arrivals, adapters, users and lengths, but not how answers are drawn. */
function decidedByFile(id: string): boolean {
  return id.startsWith('workload.') && !id.startsWith('workload.sampling.') && !isTraceParameter(id);
}

function isTraceParameter(id: string): boolean {
  return id.startsWith('workload.trace.') || id.startsWith('trace.');
}

export function inactiveReason(app: App, parameter: Parameter): string | null {
  const { text } = app;
  const fromFile = app.traceFile.info.value !== null;
  if (fromFile && decidedByFile(parameter.id)) return text.t('control.file_decides');
  if (!fromFile && isTraceParameter(parameter.id)) return text.t('control.file_needed');
  if (!app.store.resolved.inactive.has(parameter.id) || onlyAtGateway(app, parameter)) return null;
  const { values } = app.store.resolved;
  const unmet = parameter.applies.filter(({ parameter: id, in: allowed }) => !allowed.some((value) => String(value) === String(values[id])));
  if (unmet.length === 0) return text.t('control.no_effect');
  const conditions = unmet.map(({ parameter: id, in: allowed }) => {
    const other = app.parameters.get(id);
    if (other === undefined) return id;
    return text.t('control.condition', {
      name: text.label(other), values: allowed.map((value) => text.value(other, value)).join(text.t('control.or')),
    });
  });
  return text.t('control.applies', { conditions: conditions.join(text.t('control.and')) });
}
