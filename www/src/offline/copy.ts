// The copy of the page that works without a network: one cache for each build of the page, each whole or without an index.
//
// Online, what has no hash in its name comes from the network, so a new version is seen at once; hashed files never change
// and come from a copy. A copy is made after a build has worked once, of exactly the files of its manifest, each checked
// against its hash. The copy of an older build stays while a tab may still run it.

/** `files.json` beside the page. */
export interface Manifest {
  build: string;
  /** Path beside the page -> its hash, as `integrity` takes it. The page itself has the empty path. */
  files: Readonly<Record<string, string>>;
  /** Those that an English reader's page fetches until it is ready. */
  start: readonly string[];
}

export interface Wish {
  /** The build that runs and worked. */
  build: string;
  /** What it has fetched so far. */
  used: readonly string[];
  /** Parts that were not looked at yet, too. */
  everything: boolean;
  /** Other tabs may run another build. */
  othersOpen: boolean;
}

/** In the page's own index and in the documentation, and in no page that a network shows in their place. */
export const MARK = 'name="servescope-build"';

/** A network that takes longer is as good as none, where there is a copy. */
const PATIENCE_MS = 3000;
/** When a newer version was asked for, it is worth more of a wait. */
const MORE_PATIENCE_MS = 30_000;
/** Operator tables: fetched by few, one at a time, and kept by the threads that compute with them. */
const APART = 'profiles/';
/** The documentation: pages of ours beside the index. */
const DOCS = 'docs/';

type Fetch = (input: Request | string, init?: RequestInit) => Promise<Response>;

export class Copy {
  readonly #prefix: string;
  #patience_ms = PATIENCE_MS;

  /** `scope` is the folder of the page: caches are shared by everything on the host. */
  constructor(private readonly scope: string, private readonly caches: CacheStorage, private readonly fetch: Fetch) {
    this.#prefix = `servescope ${scope} `;
  }

  /** The response to a request of the page; null for what is none of its files, or kept apart. */
  respond(request: Request): Promise<Response> | null {
    const url = request.url.replace(/[?#].*$/, '');
    if (request.method !== 'GET' || !url.startsWith(this.scope) || url.startsWith(this.#address(APART))) return null;
    return this.#isHashed(url) ? this.#fromCopy(request, url) : this.#fromNetwork(request, url);
  }

  /** The next index comes from the network, though that be slow. */
  preferNetwork(): void {
    this.#patience_ms = MORE_PATIENCE_MS;
  }

  /** Makes the copy of a build; "newer" where the host has another one by now. */
  async keep({ build, used, everything, othersOpen }: Wish): Promise<'kept' | 'newer'> {
    const manifest = await this.#manifest();
    if (manifest.build !== build) return 'newer';
    const copy = await this.caches.open(this.#prefix + build);
    const wanted = Object.keys(manifest.files).filter((path) => path !== '' && !path.startsWith(APART) && (everything || used.includes(this.#address(path))));
    await Promise.all(wanted.map((path) => this.#take(copy, path, manifest)));
    // Last, since a copy with an index is one that works.
    await this.#take(copy, '', manifest);
    await this.#forget(build, othersOpen);
    return 'kept';
  }

  async #manifest(): Promise<Manifest> {
    const response = await this.fetch(this.#address('files.json'), { cache: 'no-cache' });
    if (!response.ok) throw new Error(`files.json: HTTP ${String(response.status)}`);
    return await response.json() as Manifest;
  }

  async #take(copy: Cache, path: string, { files }: Manifest): Promise<void> {
    const url = this.#address(path);
    if (await copy.match(url) !== undefined) return;
    const hashed = this.#isHashed(url);
    const response = (hashed ? await this.#kept(url) : undefined)
      ?? await this.#fetchNamed(url, { integrity: files[path] ?? '', cache: hashed ? 'default' : 'no-cache' });
    if (!response.ok) throw new Error(`${url}: HTTP ${String(response.status)}`);
    await copy.put(url, response);
  }

  /** Of a file that is missing, or has not the hash it should have, the browser does not say which it is. */
  async #fetchNamed(url: string, init: RequestInit): Promise<Response> {
    try {
      return await this.fetch(url, init);
    } catch (thrown) {
      throw new Error(`${url}: ${String(thrown)}`, { cause: thrown });
    }
  }

  /** Other builds than this one; with other tabs open, the latest of them stays. */
  async #forget(build: string, othersOpen: boolean): Promise<void> {
    const others = (await this.#names()).filter((name) => name !== this.#prefix + build);
    for (const name of othersOpen ? others.slice(1) : others) await this.caches.delete(name);
  }

  /** The caches of this page, the latest first. */
  async #names(): Promise<string[]> {
    return (await this.caches.keys()).filter((name) => name.startsWith(this.#prefix)).reverse();
  }

  #address(path: string): string {
    return this.scope + path;
  }

  #isHashed(url: string): boolean {
    return url.startsWith(this.#address('assets/'));
  }

  /** A host may say that its files vary with the request's headers; these do not. */
  async #kept(url: string): Promise<Response | undefined> {
    const page = url === this.#address('index.html') ? this.scope : url;
    for (const name of await this.#names()) {
      const found = await (await this.caches.open(name)).match(page, { ignoreVary: true });
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async #fromCopy(request: Request, url: string): Promise<Response> {
    return (await this.#kept(url)) ?? this.fetch(request);
  }

  async #fromNetwork(request: Request, url: string): Promise<Response> {
    const isPage = url === this.scope || url === this.#address('index.html');
    const patience_ms = this.#patience_ms;
    if (isPage) this.#patience_ms = PATIENCE_MS;
    const network = this.fetch(request);
    const good = network.then(async (response) => (response.ok && await isOurs(response, isPage || url.startsWith(this.#address(DOCS))) ? response : null), () => null);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<null>((done) => { timer = setTimeout(done, patience_ms, null); });
    const first = await Promise.race([good, late]);
    clearTimeout(timer);
    return first ?? (await this.#kept(url)) ?? network;
  }
}

/** A network that wants a sign-in first shows a page of its own under any address. Of our files only those with the mark are pages. */
async function isOurs(response: Response, mayBePage: boolean): Promise<boolean> {
  if (response.headers.get('content-type')?.startsWith('text/html') !== true) return true;
  return mayBePage && (await response.clone().text()).includes(MARK);
}
