// Offline use. The page says which files it took once it works; only then is its index kept, together with all of them.
// Online, the index always comes from the network, so a new version is seen at once; hashed files never change and come
// from the copy.
const COPY = 'servescope';

self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));

self.addEventListener('message', (event) => {
  if (event.data?.kind === 'keep') event.waitUntil(keep(event.data.page, event.data.files));
});

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== 'GET' || origin !== self.location.origin) return;
  const hashed = pathname.includes('/assets/');
  event.respondWith(hashed ? fromCopy(request) : fromNetwork(request));
});

async function keep(page, files) {
  const copy = await caches.open(COPY);
  const wanted = new Set([page, ...files]);
  const kept = new Set((await copy.keys()).map((request) => request.url));
  const missing = [...wanted].filter((url) => url !== page && !(kept.has(url) && url.includes('/assets/')));
  await copy.addAll(missing);
  await copy.add(page);
  for (const url of kept) if (!wanted.has(url)) await copy.delete(url);
}

async function fromCopy(request) {
  return (await kept(request)) ?? fetch(request);
}

async function fromNetwork(request) {
  try {
    return await fetch(request);
  } catch (failure) {
    const copy = await kept(request);
    if (copy === undefined) throw failure;
    return copy;
  }
}

/** A host may say that its files vary with the request's headers; these do not. */
function kept(request) {
  return caches.match(request, { cacheName: COPY, ignoreSearch: true, ignoreVary: true });
}
