// The languages that have been read so far. English is always there but for what the parameter table says.
import address from '../generated/parameter-text.json?url';
import type { Language } from './format.js';
import type { Parameters } from './diagnostic-values.js';
import { Text, type Tables } from './text.js';
import { part } from '../lib/part.js';

/** English as it is before the texts of the parameters are read. */
export const english: Tables = { areas: {}, parameters: {}, module: {} };

export class Languages {
  /** The parameter table, by whose labels messages name settings. */
  parameters: Parameters = new Map();
  readonly #parameters = (): Parameters => this.parameters;
  #english = new Text('en', english, this.#parameters);
  #whole = false;
  #chinese: Text | null = null;

  of(language: Language): Text {
    return language === 'zh' ? (this.#chinese ?? this.#english) : this.#english;
  }

  async load(language: Language): Promise<void> {
    if (language === 'zh') {
      this.#chinese ??= new Text('zh', (await part(() => import('./zh.js'))).zh, this.#parameters);
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
