// Offline use: once the page works, the service worker is told which files it took, so that the copy it keeps is
// whole: never an index whose scripts are missing.
import type { App } from './app.js';

export function keepForOffline(app: App): void {
  if (!('serviceWorker' in navigator) || !isSecureContext) return;
  const stop = app.session.subscribe(({ state }) => {
    if (state !== 'ready') return;
    stop();
    void keep();
  });
}

async function keep(): Promise<void> {
  try {
    await navigator.serviceWorker.register(new URL('sw.js', document.baseURI));
    const { active } = await navigator.serviceWorker.ready;
    active?.postMessage({ kind: 'keep', page: document.baseURI.replace(/#.*$/, ''), files: await filesWanted() });
  } catch (thrown) {
    console.warn('offline use is not available:', thrown);
  }
}

/** What was fetched so far, and everything that was built: a part of the page may be opened first where there is no network. */
async function filesWanted(): Promise<string[]> {
  const entries = performance.getEntriesByType('resource').map((entry) => entry.name.replace(/#.*$/, ''));
  const list = new URL('files.json', document.baseURI).href;
  const response = await fetch(list);
  const built: unknown = response.ok ? await response.json() : [];
  const names = Array.isArray(built) ? built.map((name) => new URL(String(name), document.baseURI).href) : [];
  return [...new Set([list, ...entries, ...names].filter((name) => name.startsWith(location.origin)))];
}
