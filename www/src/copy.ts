// Copying a text, and saying so.
import type { App } from './app.js';

/** Whether the clipboard took it; where it did not, a notice has the text. */
export async function copied({ notices, text }: App, what: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(what);
    return true;
  } catch {
    notices.error('copy_failed', () => text.t('notice.copy_failed', { text: what }));
    return false;
  }
}
