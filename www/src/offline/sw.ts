// The service worker: it answers the page's requests from the network or from the copy, and makes the copy when the page
// says that it works.
import { Copy } from './copy.js';
import type { FromServiceWorker, ToServiceWorker } from './messages.js';

interface Client { id: string; url: string; postMessage(message: FromServiceWorker): void }
interface WaitingEvent extends Event { waitUntil(until: Promise<unknown>): void }
interface ServiceWorkerScope {
  readonly registration: { scope: string };
  readonly clients: { claim(): Promise<void>; matchAll(options: object): Promise<Client[]> };
  skipWaiting(): Promise<void>;
  addEventListener(kind: 'install' | 'activate', listener: (event: WaitingEvent) => void): void;
  addEventListener(kind: 'message', listener: (event: WaitingEvent & { data: ToServiceWorker; source: Client | null }) => void): void;
  addEventListener(kind: 'fetch', listener: (event: Event & { request: Request; respondWith(response: Promise<Response>): void }) => void): void;
}

// The compiler knows windows only.
const worker = self as unknown as ServiceWorkerScope;
const { scope } = worker.registration;
const copy = new Copy(scope, caches, (input, init) => fetch(input, init));

worker.addEventListener('install', () => { void worker.skipWaiting(); });
worker.addEventListener('activate', (event) => { event.waitUntil(worker.clients.claim()); });

worker.addEventListener('fetch', (event) => {
  const response = copy.respond(event.request);
  if (response !== null) event.respondWith(response);
});

worker.addEventListener('message', (event) => {
  const { data, source } = event;
  if (data.kind === 'newest') copy.preferNetwork();
  else if (source !== null) event.waitUntil(keep(data, source));
});

async function keep({ build, used, everything }: Extract<ToServiceWorker, { kind: 'keep' }>, page: Client): Promise<void> {
  const tabs = await worker.clients.matchAll({ type: 'window', includeUncontrolled: true });
  const others = tabs.filter(({ id, url }) => id !== page.id && url.startsWith(scope));
  try {
    const outcome = await copy.keep({ build, used, everything, othersOpen: others.length > 0 });
    page.postMessage({ kind: outcome, scope });
    if (outcome === 'kept') for (const tab of others) tab.postMessage({ kind: 'runs', scope, build });
  } catch (thrown) {
    page.postMessage({ kind: 'failed', scope, message: String(thrown) });
  }
}
