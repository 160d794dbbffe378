// Finished runs of sweeps, kept in this browser: a reload goes on where the page was left. They are of one build of the simulator
// and of one sweep; those of another build are not read.
import { openDB, type DBSchema, type IDBPDatabase } from 'idb';
import { moduleFile } from '../simulation/module.js';

const NAME = 'servescope-sweeps';
/** Sweeps that are kept; the one that was looked at longest ago goes first. */
const MOST_SWEEPS = 20;

interface Tables extends DBSchema {
  /** The line of a run by sweep and number. */
  runs: { key: [string, number]; value: string };
  /** When a sweep was looked at last, milliseconds. */
  sweeps: { key: string; value: number };
}

export class SweepStore {
  private constructor(private readonly tables: IDBPDatabase<Tables>) {}

  /** Null where the browser keeps nothing. */
  static async open(): Promise<SweepStore | null> {
    try {
      return new SweepStore(await openDB<Tables>(NAME, 1, {
        upgrade: (tables) => {
          tables.createObjectStore('runs');
          tables.createObjectStore('sweeps');
        },
      }));
    } catch {
      return null;
    }
  }

  /** The runs of a sweep that are kept, by number. */
  async lines(sweep: string): Promise<Map<number, string>> {
    const key = keyOf(sweep);
    await this.#touch(key);
    const { store } = this.tables.transaction('runs');
    const [keys, lines] = await Promise.all([store.getAllKeys(all(key)), store.getAll(all(key))]);
    return new Map(keys.map(([, index], place) => [index, lines[place] ?? '']));
  }

  async add(sweep: string, index: number, line: string): Promise<void> {
    await this.tables.put('runs', line, [keyOf(sweep), index]);
  }

  async #touch(key: string): Promise<void> {
    await this.tables.put('sweeps', Date.now(), key);
    const [keys, times] = await Promise.all([this.tables.getAllKeys('sweeps'), this.tables.getAll('sweeps')]);
    const byAge = keys.map((sweep, place) => ({ sweep, time: times[place] ?? 0 })).sort((one, other) => one.time - other.time);
    for (const { sweep } of byAge.slice(0, Math.max(byAge.length - MOST_SWEEPS, 0))) {
      await this.tables.delete('runs', all(sweep));
      await this.tables.delete('sweeps', sweep);
    }
  }
}

function all(key: string): IDBKeyRange {
  return IDBKeyRange.bound([key, 0], [key, Infinity]);
}

/** The name of the compiled module changes with its content. */
function keyOf(sweep: string): string {
  return `${moduleFile.split('/').at(-1) ?? ''} ${sweep}`;
}
