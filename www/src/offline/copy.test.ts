// The copy of the page, with caches and a host that are made up.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Copy, MARK, type Manifest } from './copy.js';

class FakeCache {
  readonly held = new Map<string, Response>();
  match(url: string): Promise<Response | undefined> { return Promise.resolve(this.held.get(url)?.clone()); }
  put(url: string, response: Response): Promise<void> { this.held.set(url, response); return Promise.resolve(); }
}

class FakeCaches {
  readonly all = new Map<string, FakeCache>();
  open(name: string): Promise<FakeCache> {
    const cache = this.all.get(name) ?? new FakeCache();
    this.all.set(name, cache);
    return Promise.resolve(cache);
  }
  keys(): Promise<string[]> { return Promise.resolve([...this.all.keys()]); }
  delete(name: string): Promise<boolean> { return Promise.resolve(this.all.delete(name)); }
}

const SCOPE = 'https://host/assets/tool/';
const index = (build: string): string => `<meta ${MARK} content="${build}">`;

/** A host: what it has under which address, and how it answers. */
let host: Map<string, string>;
let answer: (url: string) => Promise<Response>;
let fetched: [string, RequestInit | undefined][];
let caches: FakeCaches;
let copy: Copy;

const made = (scope = SCOPE): Copy => new Copy(scope, caches as unknown as CacheStorage, (input, init) => {
  const url = typeof input === 'string' ? input : input.url;
  fetched.push([url, init]);
  return answer(url);
});

function deploy(build: string, ...names: string[]): void {
  const files = Object.fromEntries(['', 'theme.js', 'profiles/a.txt', ...names].map((name) => [name, `sha256-${name} of ${build}`]));
  host = new Map(Object.keys(files).map((name) => [SCOPE + name, name === '' ? index(build) : `${name} of ${build}`]));
  host.set(`${SCOPE}files.json`, JSON.stringify({ build, files, start: [] } satisfies Manifest));
}

const request = (path: string, base = SCOPE): Request => new Request(base + path);
const text = async (path: string): Promise<string> => (await (copy.respond(request(path)) ?? Promise.reject(new Error('not answered')))).text();
const keep = (build: string, change: Partial<Parameters<Copy['keep']>[0]> = {}): Promise<string> =>
  copy.keep({ build, used: [], everything: true, othersOpen: false, ...change });
const offline = (): Promise<Response> => Promise.reject(new TypeError('Failed to fetch'));

beforeEach(() => {
  fetched = [];
  caches = new FakeCaches();
  copy = made();
  deploy('one', 'assets/index-1.js', 'assets/later-1.js');
  answer = (url) => {
    const body = host.get(url);
    return Promise.resolve(new Response(body ?? 'nothing', { status: body === undefined ? 404 : 200 }));
  };
});
afterEach(() => { vi.useRealTimers(); });

describe('keep', () => {
  it('takes every file of the build, each with its hash, the index last', async () => {
    expect(await keep('one')).toBe('kept');
    const [name = ''] = await caches.keys();
    expect([...(caches.all.get(name)?.held.keys() ?? [])]).toEqual(['theme.js', 'assets/index-1.js', 'assets/later-1.js', ''].map((path) => SCOPE + path));
    expect(fetched.slice(1).every(([url, init]) => init?.integrity === `sha256-${url.slice(SCOPE.length)} of one`)).toBe(true);
  });

  it('takes no newer index to older files: another build on the host is only told', async () => {
    deploy('two', 'assets/index-2.js');
    expect(await keep('one')).toBe('newer');
    expect(caches.all.size).toBe(0);
  });

  it('leaves a copy without an index where a file is missing or is another, and says so', async () => {
    host.delete(`${SCOPE}assets/later-1.js`);
    await expect(keep('one')).rejects.toThrow('assets/later-1.js: HTTP 404');
    answer = (url) => (url.endsWith('later-1.js') ? offline() : Promise.resolve(new Response(host.get(url))));
    await expect(keep('one')).rejects.toThrow('assets/later-1.js: TypeError: Failed to fetch');
    answer = offline;
    await expect(text('')).rejects.toThrow('Failed to fetch');
  });

  it('takes only what was used where data is to be saved', async () => {
    await keep('one', { everything: false, used: [`${SCOPE}assets/index-1.js`] });
    answer = offline;
    expect(await text('assets/index-1.js')).toBe('assets/index-1.js of one');
    expect(await text('')).toBe(index('one'));
    await expect(text('assets/later-1.js')).rejects.toThrow();
  });

  it('keeps what another tab still has to import, until that is gone', async () => {
    await keep('one');
    deploy('two', 'assets/index-2.js');
    await keep('two', { othersOpen: true });
    expect(await text('assets/later-1.js')).toBe('assets/later-1.js of one');
    deploy('three', 'assets/index-3.js');
    await keep('three', { othersOpen: true });
    expect(caches.all.size).toBe(2);
    await keep('three');
    expect(await caches.keys()).toEqual([`servescope ${SCOPE} three`]);
  });

  it('fetches no hashed file again that an older copy has', async () => {
    await keep('one');
    deploy('two', 'assets/index-2.js', 'assets/later-1.js');
    fetched = [];
    await keep('two');
    expect(fetched.map(([url]) => url)).not.toContain(`${SCOPE}assets/later-1.js`);
    expect(fetched.map(([url]) => url)).toContain(`${SCOPE}assets/index-2.js`);
  });

  it('leaves another deployment on the same host its own', async () => {
    await keep('one');
    const other = 'https://host/assets/tool/preview/';
    answer = (url) => Promise.resolve(new Response(url.endsWith('files.json') ? JSON.stringify({ build: 'one', files: { '': 'sha256-x' } }) : index('preview')));
    await made(other).keep({ build: 'one', used: [], everything: true, othersOpen: false });
    await keep('one');
    expect(caches.all.size).toBe(2);
  });
});

describe('respond', () => {
  beforeEach(async () => {
    await keep('one');
    fetched = [];
  });

  it('has hashed files from the copy and all else from the network, whatever the path of the page', async () => {
    deploy('two', 'assets/index-1.js');
    expect(await text('assets/index-1.js')).toBe('assets/index-1.js of one');
    expect(await text('')).toBe(index('two'));
    expect(await text('theme.js')).toBe('theme.js of two');
  });

  it('leaves operator tables to the threads that compute with them', async () => {
    await keep('one', { used: [`${SCOPE}profiles/a.txt`] });
    expect(copy.respond(request('profiles/a.txt'))).toBeNull();
    for (const cache of caches.all.values()) expect([...cache.held.keys()]).not.toContain(`${SCOPE}profiles/a.txt`);
  });

  it('leaves alone what is not of this page', () => {
    expect(copy.respond(new Request('https://host/assets/other.js'))).toBeNull();
    expect(copy.respond(new Request(SCOPE, { method: 'POST' }))).toBeNull();
  });

  it('has the copy without a network, under each address of the page', async () => {
    answer = offline;
    for (const path of ['', 'index.html', '?from=mail', '#v=1']) expect(await text(path)).toBe(index('one'));
    await expect(text('never-there.json')).rejects.toThrow('Failed to fetch');
  });

  it('has the copy for an error of the host, and the error where there is no copy', async () => {
    answer = () => Promise.resolve(new Response('broken', { status: 500 }));
    expect(await text('')).toBe(index('one'));
    expect(await text('theme.js')).toBe('theme.js of one');
    expect(await text('never-there.json')).toBe('broken');
  });

  it('has the copy where the network shows a page of its own', async () => {
    answer = () => Promise.resolve(new Response('<form>Sign in to the hotel</form>', { headers: { 'content-type': 'text/html; charset=utf-8' } }));
    expect(await text('')).toBe(index('one'));
    expect(await text('theme.js')).toBe('theme.js of one');
  });

  it('has the copy after three seconds without a response', async () => {
    vi.useFakeTimers();
    answer = () => new Promise(() => undefined);
    const page = text('');
    await vi.advanceTimersByTimeAsync(2900);
    const seen = vi.fn();
    void page.then(seen);
    await vi.advanceTimersByTimeAsync(50);
    expect(seen).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(100);
    expect(await page).toBe(index('one'));
  });

  it('waits longer for the network once a newer version was asked for', async () => {
    vi.useFakeTimers();
    answer = () => new Promise((done) => { setTimeout(() => { done(new Response(index('two'))); }, 8000); });
    copy.preferNetwork();
    const page = text('');
    await vi.advanceTimersByTimeAsync(9000);
    expect(await page).toBe(index('two'));
    const next = text('');
    await vi.advanceTimersByTimeAsync(3100);
    expect(await next).toBe(index('one'));
  });

  it('waits for the network where there is no copy', async () => {
    vi.useFakeTimers();
    answer = () => new Promise((done) => { setTimeout(() => { done(new Response('late')); }, 8000); });
    const page = text('never-there.json');
    await vi.advanceTimersByTimeAsync(9000);
    expect(await page).toBe('late');
  });
});
