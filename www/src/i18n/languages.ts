// The languages that have been read so far. English is always there but for what the parameter table says.
import address from '../generated/parameter-text.json?url';
import type { Language } from './format.js';
import type { Parameters } from './diagnostic-values.js';
import { areasThere, type AreaName, type Table } from './area.js';
import { Text, type Tables } from './text.js';
import { part } from '../lib/part.js';

/** English as it is before the texts of the parameters are read. */
export const english: Tables = { areas: {}, parameters: {}, module: {} };

/** A language whose areas are fetched one by one. */
interface Growing { text: Text; add: (areas: readonly AreaName[]) => Promise<void> }

export class Languages {
  /** The parameter table, by whose labels messages name settings. */
  parameters: Parameters = new Map();
  readonly #parameters = (): Parameters => this.parameters;
  #english = new Text('en', english, this.#parameters);
  #whole = false;
  #chinese: Growing | null = null;

  of(language: Language): Text {
    return language === 'zh' ? (this.#chinese?.text ?? this.#english) : this.#english;
  }

  /** Fetches what the shown parts lack of a language that was chosen. */
  async complete(): Promise<void> {
    await this.#chinese?.add([...areasThere]);
  }

  async #inChinese(): Promise<Growing> {
    const { zh, laterAreas } = await part(() => import('./zh.js'));
    const areas: Partial<Record<AreaName, Table>> = { ...zh.areas };
    const add = async (names: readonly AreaName[]): Promise<void> => {
      await Promise.all(names.map(async (name) => {
        const table = areas[name] ?? await laterAreas[name]?.();
        if (table !== undefined) areas[name] = table;
      }));
    };
    return { text: new Text('zh', { ...zh, areas }, this.#parameters), add };
  }

  async load(language: Language): Promise<void> {
    if (language === 'zh') {
      this.#chinese ??= await this.#inChinese();
      await this.complete();
    } else if (!this.#whole) {
      this.#english = new Text('en', { ...english, parameters: await parameterTexts() }, this.#parameters);
      this.#whole = true;
    }
  }
}

async function parameterTexts(): Promise<Tables['parameters']> {
  const response = await fetch(new URL(address, import.meta.url));
  if (!response.ok) throw new Error(`${address}: HTTP ${String(response.status)}`);
  return await response.json() as Tables['parameters'];
}
