// What is said where the shown result is not of the settings in the controls.
import type { App } from '../app/app.js';
import { resolve } from '../simulation/module.js';
import { sameValue } from '../simulation/values.js';

/** More settings than that are counted. */
const NAMED = 3;

/** Why the settings in the controls have no result. */
export function reason(app: App): string {
  const { text } = app;
  const stale = app.belonging.stale.value;
  switch (stale?.reason) {
    case 'failed': return text.t('stale.failed', { reason: stale.errors.map((error) => app.named(error)).join(text.t('list.sentences')) });
    case 'cancelled': return text.t('stale.cancelled');
    case 'file': return text.t('stale.file', { name: stale.missing ?? '' });
    case undefined: return text.t('stale.running');
  }
}

/** Which settings the shown result is of: those that differ from the controls'. */
export function shownInstead(app: App): string {
  const { text, belonging, store, traceFile } = app;
  const { shown } = belonging;
  if (shown === null) return text.t('stale.nothing');
  const was = resolve(shown.values).values;
  const now = store.resolved.values;
  const drafts = app.editor.drafts.value;
  const differing = app.schema.parameters.filter(({ id }) => drafts.has(id) || !sameValue(was[id], now[id]));
  const settings = differing.slice(0, NAMED).map((parameter) => `${text.label(parameter)} ${text.value(parameter, was[parameter.id] ?? parameter.default)}`);
  if (differing.length > NAMED) settings.push(text.t('stale.more', { count: differing.length - NAMED }));
  const { info } = shown.traffic;
  if (info !== traceFile.info.value || belonging.stale.value?.reason === 'file') settings.push(info === null ? text.t('stale.generated') : info.name);
  return settings.length === 0 ? text.t('stale.preview') : text.t('stale.shown', { settings: text.list(settings) });
}

/** Refuses to save what is not of the settings in the controls, and says why. Requests are, but for a file that is not there. */
export function refused(app: App, of: 'run' | 'traffic' = 'run'): boolean {
  const { belonging, notices, text } = app;
  if (of === 'run' ? belonging.agrees : belonging.stale.value?.reason !== 'file') return false;
  notices.error('export_refused', () => text.t('notice.export_refused', { reason: reason(app) }));
  return true;
}

/** Says which settings a copy or a file is of, where that is not what is shown. */
export function tellOfControls(app: App): boolean {
  // What was typed and cannot be run is in no file: that is of the shown result then.
  if (app.belonging.stale.value === null || app.editor.drafts.value.size > 0) return false;
  app.notices.info('of_controls', () => app.text.t('notice.of_controls'));
  return true;
}
