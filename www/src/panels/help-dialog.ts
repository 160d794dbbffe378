// Help: what to do, shortcuts, words.
import { html, type TemplateResult } from 'lit';
import type { App } from '../app.js';
import { LightElement } from '../element.js';
import type { MessageKey } from '../i18n/en.js';
import type { Watchable } from '../state/topic.js';

/** Keys as they are printed on them, or the message that names them. */
const SHORTCUTS: readonly (readonly [string, MessageKey])[] = [
  ['help.key_arrows', 'help.arrows'],
  ['help.key_double', 'help.double'],
  ['Ctrl+Z, Ctrl+Shift+Z', 'help.undo'],
  ['Esc', 'help.cancel'],
  ['?', 'help.help'],
];

const TERMS = ['ttft', 'tbt', 'e2e', 'prefill', 'decode', 'batching', 'kv', 'adapter', 'cv', 'alpha', 'slo', 'admission'] as const;

export class HelpDialog extends LightElement {
  protected override watched(): Watchable[] {
    return [];
  }

  show(): void {
    const dialog = this.querySelector('dialog');
    if (dialog?.open === false) dialog.showModal();
  }

  protected override render(): TemplateResult {
    const { text } = this.app;
    const { t } = text;
    return html`
      <dialog aria-labelledby="help-title" @click=${closeOnBackdrop}>
        <form method="dialog"><h2 id="help-title">${t('help.title')}</h2><button class="quiet">${t('help.close')}</button></form>
        <p>${t('help.intro')}</p>
        <h3>${t('help.shortcuts')}</h3>
        <dl class="shortcuts">${SHORTCUTS.map(([keys, about]) => html`<div><dt><kbd>${text.named('', keys)}</kbd></dt><dd>${t(about)}</dd></div>`)}</dl>
        <h3>${t('help.glossary')}</h3>
        <dl class="glossary">${TERMS.map((term) => html`<div><dt>${t(`term.${term}`)}</dt><dd>${t(`term.${term}.about`)}</dd></div>`)}</dl>
      </dialog>`;
  }
}

function closeOnBackdrop(event: Event): void {
  if (event.target instanceof HTMLDialogElement) event.target.close();
}

customElements.define('help-dialog', HelpDialog);

/** Shows the help, which is made when it is first asked for. */
export async function showHelp(app: App): Promise<void> {
  let dialog = document.querySelector<HelpDialog>('help-dialog');
  if (dialog === null) {
    dialog = new HelpDialog();
    dialog.app = app;
    document.querySelector('servescope-page')?.append(dialog);
    await dialog.updateComplete;
  }
  dialog.show();
}
