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
      searchFor(app);
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

/** Opens the search; what is typed while it is fetched stands in its box. */
function searchFor(app: App): void {
  let typed = '';
  const take = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || (event.key.length > 1 && event.key !== 'Backspace')) return;
    event.preventDefault();
    event.stopPropagation();
    typed = event.key === 'Backspace' ? typed.slice(0, -1) : typed + event.key;
  };
  addEventListener('keydown', take, true);
  void part(() => import('../search/search-dialog.js'))
    .then(({ showSearch }) => showSearch(app, () => typed))
    .finally(() => { removeEventListener('keydown', take, true); });
}
