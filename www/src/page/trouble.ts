// What went wrong where no caller waits for it: reported above the results. Without this, a click that fails does nothing.
import type { App } from '../app/app.js';
import { Refusal } from '../simulation/worker-link.js';
import { codesOf, messageOf } from '../simulation/types.js';
import { offerNewerIfAny } from '../offline/offline.js';

/** The bundler's event for a part of the page that could not be fetched. */
interface PreloadError extends Event { payload: unknown }

/** The settings are in the address, so they outlive it. */
function reload(app: App): void {
  app.link();
  location.reload();
}

export function watchTrouble(app: App, page: EventTarget = window): void {
  const missing = new WeakSet<object>();
  page.addEventListener('vite:preloadError', (event) => {
    const { payload } = event as PreloadError;
    if (typeof payload === 'object' && payload !== null) missing.add(payload);
    void offerNewerIfAny(app);
  });
  page.addEventListener('unhandledrejection', (event) => {
    const reason: unknown = (event as PromiseRejectionEvent).reason;
    // A question that was taken back needs no answer.
    if (reason instanceof Error && reason.name === 'Cancelled') {
      event.preventDefault();
      return;
    }
    if (reason instanceof Refusal) app.notices.error(codesOf(reason.errors), () => app.text.diagnostics(reason.errors));
    else if (typeof reason === 'object' && reason !== null && missing.has(reason)) app.notices.error('part_missing', () => app.text.t('notice.part_missing'), { label: 'notice.reload_page', run: () => { reload(app); } });
    else app.notices.error('unexpected', () => app.text.t('notice.unexpected', { message: messageOf(reason) }));
  });
}
