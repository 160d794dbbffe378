// A part of the page that is fetched when it is needed, and once more where that failed: networks drop a request now and then.
// A page that is left while it fetches never comes to the second time, so what its browser has stopped is no error.
import { due } from './due.js';

/** Before the second time. */
const AFTER_MS = 1000;
/** Firefox reports which address failed, and returns the failure from then on: only another address is fetched. */
const REMEMBERED = /^error loading dynamically imported module: (\S+)$/;
/** The bundler asks for a style once, and takes it for there the second time. */
const STYLE = /^Unable to preload CSS for (\S+)$/;

let remembers = false;

/** Whether the browser remembers a failure so well that only a page that is loaded anew is without it. */
export function remembersFailures(): boolean {
  return remembers;
}

export interface From {
  module(address: string): Promise<unknown>;
  style(address: string): Promise<unknown>;
}

const NETWORK: From = {
  module: (address) => import(/* @vite-ignore */ address) as Promise<unknown>,
  style: (address) => new Promise((done, failed) => {
    const link = document.createElement('link');
    Object.assign(link, { rel: 'stylesheet', href: address, onload: done, onerror: failed });
    document.head.append(link);
  }),
};

let companion = (): Promise<void> => Promise.resolve();

/** What is fetched with each part, once its script is there: a part is shown without it where that fails. */
export function withEachPart(fetch: () => Promise<void>): void {
  companion = fetch;
}

/** What `fetch` imports; fails with the first error where the second time fails, too. */
export function part<Part>(fetch: () => Promise<Part>, from: From = NETWORK): Promise<Part> {
  return due.during('fetch', async () => {
    const fetched = await fetchedTwice(fetch, from);
    await fetchedTwice(companion, from).catch((thrown: unknown) => { console.warn(thrown); });
    return fetched;
  });
}

/** For a part that only idle work needs: where it cannot be fetched, the page does without it, and that is no error. */
export function unreached(thrown: unknown): null {
  console.warn(thrown);
  return null;
}

async function fetchedTwice<Part>(fetch: () => Promise<Part>, from: From): Promise<Part> {
  try {
    return await fetch();
  } catch (thrown) {
    await new Promise((done) => { setTimeout(done, AFTER_MS); });
    const message = thrown instanceof Error ? thrown.message : '';
    const [[, module] = [], [, style] = []] = [REMEMBERED, STYLE].map((words) => words.exec(message) ?? []);
    try {
      if (style !== undefined) await from.style(`${style}?again`);
      return await (module === undefined ? fetch() : from.module(`${module}?again`) as Promise<Part>);
    } catch {
      remembers ||= module !== undefined;
      throw thrown;
    }
  }
}
