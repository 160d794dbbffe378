// Keys that work anywhere on the page.
import type { App } from '../app/app.js';
import { part } from '../lib/part.js';

export function listenToShortcuts(app: App): void {
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented) return;
    const typing = event.target instanceof HTMLInputElement && event.target.type !== 'range' && event.target.type !== 'checkbox';
    const command = event.ctrlKey || event.metaKey;
    const key = event.key.toLowerCase();
    if (command && !event.altKey && !typing && (key === 'z' || key === 'y')) {
      event.preventDefault();
      if (key === 'y' || event.shiftKey) app.editor.redo();
      else app.editor.undo();
    } else if (event.key === 'Escape') {
      app.cancel();
    } else if (event.key === '/' && (!typing || event.target.inputMode === 'decimal') && !command) {
      event.preventDefault();
      void part(() => import('../search/search-dialog.js')).then(({ showSearch }) => showSearch(app));
    } else if (event.key === '?' && !typing) {
      event.preventDefault();
      void part(() => import('../help/help-dialog.js')).then(({ showHelp }) => showHelp(app));
    }
  });
  // What is pasted where nothing takes text is meant for the page.
  addEventListener('paste', (event) => {
    const at = event.target instanceof Element ? event.target : null;
    const text = event.clipboardData?.getData('text/plain') ?? '';
    if (event.defaultPrevented || text.trim() === '' || (at !== null && at.closest('input, textarea, [contenteditable]') !== null)) return;
    event.preventDefault();
    void part(() => import('../files/open-dialog.js')).then(({ showOpening }) => showOpening(app, text));
  });
}
