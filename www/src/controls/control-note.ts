// What the shown run says of one setting: beside its control, not above the results.
import type { App } from '../app.js';
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
