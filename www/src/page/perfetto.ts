// Hands the run's timeline to Perfetto in a window of its own: https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui
// The page itself sends nothing: the person opens the other site, and the trace goes from window to window.
import type { App } from '../app/app.js';

/** The window is opened at this address by the menu. */
const PERFETTO = 'https://ui.perfetto.dev';
const ASK_EVERY_MS = 100;
/** The site may be slow to load. */
const PATIENCE_MS = 60_000;

/** The part of a window that is used. */
export interface Viewer { readonly closed: boolean; postMessage(message: unknown, origin: string): void }

/** A `message` event's part that is used. */
interface Heard { origin: string; source: unknown; data: unknown }

/** Where answers are heard. */
export interface Ear {
  addEventListener(kind: 'message', heard: (event: Heard) => void): void;
  removeEventListener(kind: 'message', heard: (event: Heard) => void): void;
}

/** Waits until the viewer says that it listens; false when it was closed or never did. */
export function listens(viewer: Viewer, ear: Ear, patience_ms = PATIENCE_MS): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (answered: boolean): void => {
      clearInterval(asking);
      clearTimeout(waiting);
      ear.removeEventListener('message', heard);
      resolve(answered);
    };
    const heard = ({ origin, source, data }: Heard): void => {
      if (origin === PERFETTO && source === viewer && data === 'PONG') end(true);
    };
    const asking = setInterval(() => {
      if (viewer.closed) end(false);
      else viewer.postMessage('PING', PERFETTO);
    }, ASK_EVERY_MS);
    const waiting = setTimeout(() => { end(false); }, patience_ms);
    ear.addEventListener('message', heard);
  });
}

/** Gives the run's timeline to the site in `viewer`, once it listens. */
export async function handOver(app: App, viewer: Viewer): Promise<void> {
  const [text, answered] = await Promise.all([app.ask({ kind: 'export', what: 'trace.json' }), listens(viewer, window)]);
  if (!answered) {
    app.notices.error('perfetto_silent', () => app.text.t('notice.perfetto_silent'));
    return;
  }
  const { buffer } = new TextEncoder().encode(text);
  viewer.postMessage({ perfetto: { buffer, title: 'Servescope', fileName: 'servescope-trace.json' } }, PERFETTO);
}
