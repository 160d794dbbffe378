// Copying a text, and saying so.
import type { App } from '../app/app.js';

/** Copies a command of vLLM. Comments behind its flags list what no flag covers. */
export async function copyVllmCommand(app: App, command: string): Promise<void> {
  if (!await copied(app, command)) return;
  const hasMore = command.trimEnd().split('\n').at(-1)?.startsWith('# ') === true;
  app.notices.info('vllm_serve_copied', () => app.text.t(hasMore ? 'notice.vllm_serve_copied_with' : 'notice.vllm_serve_copied'));
}

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
