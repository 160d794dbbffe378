// The languages that have been read so far. English is always there.
import type { Language } from '../state/settings.js';
import { english } from './tables.js';
import { Text } from './text.js';
import { loadChinese } from './zh.js';

export class Languages {
  readonly #english = new Text('en', english);
  #chinese: Text | null = null;

  of(language: Language): Text {
    return language === 'zh' ? (this.#chinese ?? this.#english) : this.#english;
  }

  async load(language: Language): Promise<void> {
    if (language === 'zh') this.#chinese ??= new Text('zh', await loadChinese());
  }
}
