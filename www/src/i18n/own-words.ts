// The words that a view brings along when it is fetched, in both languages.
import type { App } from '../app.js';
import type { Params } from './text.js';

export type SayOf<Key extends string> = (key: Key, params?: Params) => string;

interface OwnWords<Key extends string> {
  wordsOf: (app: App) => SayOf<Key>;
  /** For keys that are put together of what the module names. */
  isWord: (key: string) => key is Key;
}

export function ownWords<Key extends string>(english: Readonly<Record<Key, string>>, chinese: Readonly<Record<Key, string>>): OwnWords<Key> {
  return {
    wordsOf: ({ text }) => {
      const table = text.language === 'zh' ? chinese : english;
      return (key, params = {}) => text.fill(table[key], params);
    },
    isWord: (key): key is Key => Object.hasOwn(english, key),
  };
}
