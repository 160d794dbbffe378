// Operator tables with a network, a cache and a simulator that are made up.
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { OperatorTables } from './operator-tables.js';
import type { CallErrors } from './types.js';

const PAGE = 'https://host/tool/index.html';
const FILE = 'a100_phi-2';
const ADDRESS = `https://host/tool/profiles/${FILE}.txt`;
const NEEDS: CallErrors = { errors: [{ severity: 'error', code: 'needs_table', path: 'cost.kind', message: 'not here yet', params: { model: 'phi-2', gpu: 'a100_80_sxm', file: FILE } }] };
const OTHER: CallErrors = { errors: [{ severity: 'error', code: 'other_table', path: 'cost.kind', message: 'not the one', params: { file: FILE } }] };

let held: Map<string, Response>;
let network: (address: string, init?: RequestInit) => Promise<Response>;
let fetched: number;
let taken: Set<string>;
let tables: OperatorTables;

/** A simulator that lacks its table. */
const work = (): void => {
  if (!taken.has(FILE)) throw NEEDS as unknown as Error;
};
const always = (): boolean => true;

function made(caches: unknown = { open: () => Promise.resolve({
  match: (address: string) => Promise.resolve(held.get(address)?.clone()),
  put: (address: string, response: Response) => { held.set(address, response); return Promise.resolve(); },
}) }): OperatorTables {
  const take = (file: string, text: string): void => {
    if (text !== 'ours') throw OTHER as unknown as Error;
    taken.add(file);
  };
  const fetch = (address: string, init?: RequestInit): Promise<Response> => { fetched += 1; return network(address, init); };
  const built = new OperatorTables({ take, fetch: fetch as typeof globalThis.fetch, caches: caches as CacheStorage });
  built.beside(PAGE);
  return built;
}

beforeEach(() => {
  held = new Map();
  fetched = 0;
  taken = new Set();
  network = (address) => Promise.resolve(new Response(address === ADDRESS ? 'ours' : '', { status: address === ADDRESS ? 200 : 404 }));
  tables = made();
});

describe('a table', () => {
  it('is fetched beside the page when a scenario needs it, and kept', async () => {
    expect(await tables.have(work, always)).toBe(true);
    expect(fetched).toBe(1);
    expect([...held.keys()]).toEqual([ADDRESS]);
    expect(await tables.have(work, always)).toBe(true);
    expect(fetched).toBe(1);
  });

  it('comes from this device where it was kept', async () => {
    held.set(ADDRESS, new Response('ours'));
    expect(await tables.have(work, always)).toBe(true);
    expect(fetched).toBe(0);
  });

  it('of another version is fetched anew', async () => {
    held.set(ADDRESS, new Response('theirs'));
    expect(await tables.have(work, always)).toBe(true);
    expect(await held.get(ADDRESS)?.clone().text()).toBe('ours');
  });

  it('is fetched every time where nothing can be kept', async () => {
    for (const caches of [undefined, { open: () => Promise.reject(new Error('forbidden')) }]) {
      taken.clear();
      expect(await made(caches).have(work, always)).toBe(true);
    }
    expect(fetched).toBe(2);
  });
});

describe('an expected table', () => {
  it('is fetched before a scenario asks for it, and once', async () => {
    tables.expect(FILE);
    await vi.waitFor(() => { expect(fetched).toBe(1); });
    expect(await tables.have(work, always)).toBe(true);
    expect(fetched).toBe(1);
    expect([...held.keys()]).toEqual([ADDRESS]);
  });

  it('that is kept and of another version is fetched anew', async () => {
    held.set(ADDRESS, new Response('theirs'));
    tables.expect(FILE);
    expect(await tables.have(work, always)).toBe(true);
    expect(fetched).toBe(1);
    expect(await held.get(ADDRESS)?.clone().text()).toBe('ours');
  });

  it('that cannot be had fails the scenario by its own words, and is fetched again for the next', async () => {
    const here = network;
    network = () => Promise.reject(new TypeError('Failed to fetch'));
    tables.expect(FILE);
    await expect(tables.have(work, always)).rejects.toBe(NEEDS);
    network = here;
    expect(await tables.have(work, always)).toBe(true);
  });
});

describe('without it', () => {
  it('the scenario fails by its own words', async () => {
    network = () => Promise.reject(new TypeError('Failed to fetch'));
    await expect(tables.have(work, always)).rejects.toBe(NEEDS);
    network = () => Promise.resolve(new Response('gone', { status: 404 }));
    await expect(tables.have(work, always)).rejects.toBe(NEEDS);
  });

  it('another text in its place is told, and not kept', async () => {
    network = () => Promise.resolve(new Response('<form>Sign in to the hotel</form>'));
    await expect(tables.have(work, always)).rejects.toBe(OTHER);
    expect(held.size).toBe(0);
  });

  it('a scenario that is let go ends at once, and is not begun', async () => {
    network = (_address, init) => new Promise((_done, fail) => { init?.signal?.addEventListener('abort', () => { fail(new DOMException('', 'AbortError')); }); });
    const begun = vi.fn(work);
    let wanted = true;
    const had = tables.have(begun, () => wanted);
    await vi.waitFor(() => { expect(fetched).toBe(1); });
    wanted = false;
    tables.letGo();
    expect(await had).toBe(false);
    expect(begun).toHaveBeenCalledTimes(1);
  });
});

describe('a table under way', () => {
  /** A network that answers when it is told to; what it was asked for and has not answered. */
  const asked: { address: string; answer: () => void; signal: AbortSignal | null | undefined }[] = [];
  /** A scenario that is let go while it waits for its table. */
  const letGo = async (): Promise<void> => {
    const had = tables.have(work, () => false);
    await vi.waitFor(() => { expect(asked).toHaveLength(1); });
    tables.letGo();
    expect(await had).toBe(false);
  };

  beforeEach(() => {
    asked.length = 0;
    network = (address, init) => new Promise((done, fail) => {
      init?.signal?.addEventListener('abort', () => { fail(new DOMException('', 'AbortError')); });
      asked.push({ address, signal: init?.signal, answer: () => { done(new Response('ours')); } });
    });
  });

  it('is not fetched again for the next scenario', async () => {
    await letGo();
    const had = tables.have(work, always);
    asked[0]?.answer();
    expect(await had).toBe(true);
    expect(fetched).toBe(1);
  });

  it('is kept also where no scenario waits for it any more', async () => {
    await letGo();
    asked[0]?.answer();
    await vi.waitFor(() => { expect([...held.keys()]).toEqual([ADDRESS]); });
    expect(await tables.have(work, always)).toBe(true);
    expect(fetched).toBe(1);
  });

  it('gives way to another one', async () => {
    await letGo();
    const other = (): void => {
      if (!taken.has('a40_phi-2')) throw { errors: [{ ...NEEDS.errors[0], params: { file: 'a40_phi-2' } }] } as unknown as Error;
    };
    const had = tables.have(other, always);
    await vi.waitFor(() => { expect(asked).toHaveLength(2); });
    expect(asked[0]?.signal?.aborted).toBe(true);
    asked[1]?.answer();
    expect(await had).toBe(true);
    expect([...taken]).toEqual(['a40_phi-2']);
  });
});

it('what fails for another reason is no matter of tables', async () => {
  await expect(tables.have(() => { throw new WebAssembly.RuntimeError('unreachable'); }, always)).rejects.toThrow('unreachable');
  expect(fetched).toBe(0);
});
