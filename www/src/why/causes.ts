// The causes as the page names them.
import type { PlainKey } from '../i18n/area.js';
import type { why } from '../i18n/en/why.js';

type Key = PlainKey<typeof why>;

/** The name of a cause. */
export function causeOf(cause: string): Key {
  return `cause.${cause}` as Key;
}

const BESIDE = new Set(['shared_prefill', 'batch_size']);

/** Whether others are beside a request, rather than before it. */
export function isBeside(cause: string): boolean {
  return BESIDE.has(cause);
}
