// Short messages of the page as a whole. The text is made when it is shown, so that it follows the language.
import type { MessageKey } from '../i18n/text.js';
import { Topic } from '../lib/topic.js';

export interface Notice {
  id: number;
  kind: 'info' | 'error';
  /** What it is about, in code: for tests that look for it in the document. */
  what: string;
  text: () => string;
  /** What the reader may do about it. */
  action?: { label: MessageKey; run: () => void } | undefined;
}

const INFO_STAYS_MS = 4000;
/** More would push the results off the screen. */
const MOST = 4;

export class Notices {
  readonly list = new Topic<readonly Notice[]>([]);
  #last = 0;

  info(what: string, text: () => string): void {
    const id = this.#add('info', what, text);
    setTimeout(() => { this.dismiss(id); }, INFO_STAYS_MS);
  }

  error(what: string, text: () => string, action?: Notice['action']): void {
    this.#add('error', what, text, action);
  }

  /** Stays until it is taken up or dismissed. */
  offer(what: string, text: () => string, label: MessageKey, run: () => void): void {
    this.#add('info', what, text, { label, run });
  }

  /** Something went well that had failed before. */
  dismissErrors(): void {
    this.list.set(this.list.value.filter((notice) => notice.kind !== 'error'));
  }

  dismiss(id: number): void {
    this.list.set(this.list.value.filter((notice) => notice.id !== id));
  }

  #add(kind: Notice['kind'], what: string, text: () => string, action?: Notice['action']): number {
    this.#last += 1;
    const repeated = this.list.value.filter((notice) => notice.text() !== text());
    this.list.set([...repeated, { id: this.#last, kind, what, text, action }].slice(-MOST));
    return this.#last;
  }
}
