// Offline use and new versions: once the page works, the service worker makes a copy of it. Where the host has a newer
// version by then, or another tab runs one, the page offers to load it.
import type { App } from '../app/app.js';
import { Topic } from '../lib/topic.js';
import type { FromServiceWorker, ToServiceWorker } from './messages.js';

/** Whether the page works without a network: not known yet, yes, or why not. */
export const offline = new Topic<{ state: 'unknown' | 'kept' | 'failed'; message: string }>({ state: 'unknown', message: '' });

/** What the running page was built as; empty in development. */
const BUILD = document.querySelector<HTMLMetaElement>('meta[name=servescope-build]')?.content ?? '';

export function keepForOffline(app: App): void {
  if (BUILD === '') return;
  if (!('serviceWorker' in navigator) || !isSecureContext) {
    offline.set({ state: 'failed', message: 'no service worker' });
    return;
  }
  const stop = app.session.subscribe(({ state }) => {
    if (state !== 'ready') return;
    stop();
    void keep(app);
  });
}

async function keep(app: App): Promise<void> {
  try {
    const { scope } = await navigator.serviceWorker.register(new URL('sw.js', document.baseURI));
    const { active } = await navigator.serviceWorker.ready;
    navigator.serviceWorker.addEventListener('message', ({ data }: MessageEvent<FromServiceWorker>) => {
      if (data.scope === scope) hear(app, data);
    });
    navigator.serviceWorker.startMessages();
    active?.postMessage({ kind: 'keep', build: BUILD, used: used(), everything: !savesData() } satisfies ToServiceWorker);
  } catch (thrown) {
    hear(app, { kind: 'failed', scope: '', message: String(thrown) });
  }
}

function hear(app: App, message: FromServiceWorker): void {
  switch (message.kind) {
    case 'kept': offline.set({ state: 'kept', message: '' }); return;
    case 'newer': offerNewer(app); return;
    case 'runs': if (message.build !== BUILD) offerNewer(app); return;
    case 'failed':
      // Without a network the copy is the one that runs.
      if (!navigator.onLine) return;
      offline.set({ state: 'failed', message: message.message });
      console.warn('offline use is not available:', message.message);
  }
}

/** The settings are in the address, so they outlive it. */
function offerNewer(app: App): void {
  app.notices.offer('newer', () => app.text.t('notice.newer'), 'notice.reload', () => {
    navigator.serviceWorker.controller?.postMessage({ kind: 'newest' } satisfies ToServiceWorker);
    app.link();
    location.reload();
  });
}

/** A part that cannot be fetched may be gone from the host with the version that runs. */
export async function offerNewerIfAny(app: App): Promise<void> {
  if (BUILD === '') return;
  try {
    const response = await fetch(new URL('files.json', document.baseURI), { cache: 'no-store' });
    const { build } = await response.json() as { build: string };
    if (build !== BUILD) offerNewer(app);
  } catch {
    // No network: nothing newer is known of.
  }
}

/** What was fetched so far, in full addresses. */
function used(): string[] {
  return performance.getEntriesByType('resource').map(({ name }) => name.replace(/[?#].*$/, ''));
}

/** A reader who saves data gets the copy of what was looked at. */
function savesData(): boolean {
  return (navigator as { connection?: { saveData?: boolean } }).connection?.saveData === true;
}
