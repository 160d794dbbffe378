// Operator tables, for what shares a thread with a simulator: the one that a scenario needs is fetched when the simulator
// asks for it, and kept on this device from then on. The simulator takes no other text for it than the one that this
// build knows, so a copy of another version is fetched anew, and is never computed with.
import { isCallErrors, type Diagnostic } from './types.js';

/** A network that takes longer is as good as none. */
const PATIENCE_MS = 30_000;

export interface Given {
  /** The module's `take_table`: throws where that is not the table. */
  take(file: string, text: string): void;
  fetch: typeof fetch;
  /** None on a host that browsers do not trust: then every visit fetches anew. */
  caches: CacheStorage | undefined;
}

/** A table's text; null where it cannot be had. */
interface Found { text: string | null; isKept: boolean }

export class OperatorTables {
  #page = '';
  /** What the first run will ask for. */
  #expected: { file: string; found: Promise<Found> } | null = null;
  /** The table under way. */
  #coming: { file: string; isThere: Promise<boolean>; stop: AbortController } | null = null;
  #leave: () => void = () => undefined;

  constructor(private readonly given: Given) {}

  /** The page's address, beside which the tables are. */
  beside(page: string): void {
    this.#page = page;
  }

  /** Has a table on its way before there is a simulator that can ask for it or take it. */
  expect(file: string): void {
    this.#expected = { file, found: this.#find(file) };
  }

  /** The scenario that waits for a table is not wanted any more. The table comes all the same, for the next one mostly needs it too. */
  letGo(): void {
    this.#leave();
  }

  /**
   * Does `work`, and again each time a table that it lacks is there: every pool may need one of its own. False where it is
   * not wanted any more by then. Without a table it throws what `work` has thrown.
   */
  async have(work: () => void, isWanted: () => boolean): Promise<boolean> {
    const asked = new Set<string>();
    for (;;) {
      try {
        work();
        return true;
      } catch (thrown) {
        const file = missing(thrown)?.params['file'];
        if (typeof file !== 'string' || asked.has(file)) throw thrown;
        asked.add(file);
        const left = new Promise<boolean>((resolve) => { this.#leave = (): void => { resolve(false); }; });
        const isThere = await Promise.race([this.#comes(file), left]);
        if (!isWanted()) return false;
        if (!isThere) throw thrown;
      }
    }
  }

  /** Brings a table, unless it is under way already, in place of another one that is. */
  #comes(file: string): Promise<boolean> {
    if (this.#coming?.file === file) return this.#coming.isThere;
    this.#coming?.stop.abort();
    const stop = new AbortController();
    const coming = { file, stop, isThere: this.#bring(file, stop.signal).finally(() => { if (this.#coming === coming) this.#coming = null; }) };
    this.#coming = coming;
    return coming.isThere;
  }

  /** Whether it is there now. A text that the host has in its place is thrown as such. */
  async #bring(file: string, signal: AbortSignal): Promise<boolean> {
    const expected = this.#expected?.file === file ? this.#expected.found : null;
    this.#expected = null;
    const found = await (expected ?? this.#find(file, signal));
    if (found.isKept && found.text !== null && this.#takes(file, found.text)) return true;
    const text = found.isKept ? await this.#fetched(file, signal) : found.text;
    if (text === null) return false;
    this.given.take(file, text);
    // Where there is no room for it, the next visit fetches it again.
    await (await this.#cache())?.put(this.#address(file), new Response(text)).catch(() => undefined);
    return true;
  }

  /** On this device, or else beside the page. */
  async #find(file: string, signal?: AbortSignal): Promise<Found> {
    const kept = await (await this.#cache())?.match(this.#address(file), { ignoreVary: true });
    return kept === undefined ? { text: await this.#fetched(file, signal), isKept: false } : { text: await kept.text(), isKept: true };
  }

  #address(file: string): string {
    return new URL(`profiles/${file}.txt`, this.#page).href;
  }

  #takes(file: string, text: string): boolean {
    try {
      this.given.take(file, text);
      return true;
    } catch (thrown) {
      if (!isCallErrors(thrown)) throw thrown;
      return false;
    }
  }

  async #fetched(file: string, signal?: AbortSignal): Promise<string | null> {
    try {
      const patience = AbortSignal.timeout(PATIENCE_MS);
      const response = await this.given.fetch(this.#address(file), { cache: 'no-cache', signal: signal === undefined ? patience : AbortSignal.any([signal, patience]) });
      return response.ok ? await response.text() : null;
    } catch {
      return null;
    }
  }

  /** Of this page: a host may have several. */
  async #cache(): Promise<Cache | undefined> {
    try {
      return await this.given.caches?.open(`servescope-tables ${new URL('.', this.#page).href}`);
    } catch {
      // Storage may be forbidden.
      return undefined;
    }
  }
}

function missing(thrown: unknown): Diagnostic | undefined {
  return isCallErrors(thrown) ? thrown.errors.find(({ code }) => code === 'needs_table') : undefined;
}
