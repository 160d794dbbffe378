// Offline use: once the page works, the service worker is told which files it took, so that the copy it keeps is
// whole: never an index whose scripts are missing.
import type { App } from './app.js';
import { chineseFile } from './i18n/zh.js';

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
    active?.postMessage({ kind: 'keep', page: document.baseURI.replace(/#.*$/, ''), files: filesInUse() });
  } catch (thrown) {
    console.warn('offline use is not available:', thrown);
  }
}

function filesInUse(): string[] {
  const entries = performance.getEntriesByType('resource').map((entry) => entry.name.replace(/#.*$/, ''));
  // The other language, too: it may be wanted where there is no network.
  return [...new Set([...entries, chineseFile].filter((name) => name.startsWith(location.origin)))];
}
