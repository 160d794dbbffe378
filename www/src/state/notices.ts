// Short messages of the page as a whole. The text is made when it is shown, so that it follows the language.
import { Topic } from './topic.js';

export interface Notice { id: number; kind: 'info' | 'error'; text: () => string }

const INFO_STAYS_MS = 4000;
/** More would push the results off the screen. */
const MOST = 4;

export class Notices {
  readonly list = new Topic<readonly Notice[]>([]);
  #last = 0;

  info(text: () => string): void {
    const id = this.#add('info', text);
    setTimeout(() => { this.dismiss(id); }, INFO_STAYS_MS);
  }

  error(text: () => string): void {
    this.#add('error', text);
  }

  /** Something went well that had failed before. */
  dismissErrors(): void {
    this.list.set(this.list.value.filter((notice) => notice.kind !== 'error'));
  }

  dismiss(id: number): void {
    this.list.set(this.list.value.filter((notice) => notice.id !== id));
  }

  #add(kind: Notice['kind'], text: () => string): number {
    this.#last += 1;
    const repeated = this.list.value.filter((notice) => notice.text() !== text());
    this.list.set([...repeated, { id: this.#last, kind, text }].slice(-MOST));
    return this.#last;
  }
}
