// The languages that have been read so far. English is always there but for what it says of the parameters.
import type { Language } from '../state/settings.js';
import { english, loadEnglish } from './tables.js';
import { Text } from './text.js';
import { loadChinese } from './zh.js';

export class Languages {
  #english = new Text('en', english);
  #whole = false;
  #chinese: Text | null = null;

  of(language: Language): Text {
    return language === 'zh' ? (this.#chinese ?? this.#english) : this.#english;
  }

  async load(language: Language): Promise<void> {
    if (language === 'zh') {
      this.#chinese ??= new Text('zh', await loadChinese());
    } else if (!this.#whole) {
      this.#english = new Text('en', await loadEnglish());
      this.#whole = true;
    }
  }
}
