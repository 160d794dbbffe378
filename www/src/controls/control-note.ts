// What the shown run says of one setting: beside its control, not above the results.
import type { App } from '../app/app.js';
import type { Diagnostic } from '../simulation/types.js';

/** Whether a diagnostic speaks of one setting's effect. */
export function isOfControl(code: string): boolean {
  return code.startsWith('no_effect');
}

/**
 * That a setting which acts in general did nothing in the shown run; null where it did, or where the run is of other settings. `unneeded`
 * is what runs without a setting have shown since.
 */
export function controlNote({ belonging, session, text }: Pick<App, 'belonging' | 'session' | 'text'>, id: string, unneeded: readonly Diagnostic[] = []): string | null {
  const warnings = session.value.answer?.summary.warnings ?? [];
  const note = [...warnings, ...unneeded].find(({ code, path }) => path === id && isOfControl(code));
  return note === undefined || belonging.stale.value !== null ? null : text.diagnostic(note);
}

/** The policy by which requests are served where they wait at the gateway: that of an engine, whose queue is short then, changes little. */
export const GATEWAY_ORDER = 'gateway.order';

/** Whether requests of the shown run wait at the gateway, so that the engine's scheduling policy has few to choose among. */
export function isOrderedAtGateway({ belonging, session, store }: Pick<App, 'belonging' | 'session' | 'store'>, id: string): boolean {
  if (id !== 'scheduler.order' || store.resolved.values['gateway.kind'] !== 'proxy' || belonging.stale.value !== null) return false;
  const summary = session.value.answer?.summary;
  const held = Object.values(summary?.gateway?.held ?? {}).reduce((sum, count) => sum + count, 0);
  return held > 0;
}
