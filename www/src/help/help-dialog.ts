// Help: what to do, shortcuts, glossary.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { LightElement } from '../app/element.js';
import { offline } from '../offline/offline.js';
import type { Watchable } from '../lib/topic.js';
import type { PlainKey } from '../i18n/area.js';
import { help } from '../i18n/en/help.js';
import { EN, NAMES, ZH } from '../generated/glossary.js';

/** Keys as they are printed on them, or the word that names them. */
const SHORTCUTS: readonly (readonly [string, PlainKey<typeof help>])[] = [
  ['key_arrows', 'arrows'],
  ['key_double', 'double'],
  ['Ctrl+Z, Ctrl+Shift+Z', 'undo'],
  ['Esc', 'cancel'],
  ['/', 'search'],
  ['?', 'help'],
];

export class HelpDialog extends LightElement {
  protected override watched(): Watchable[] {
    return [offline];
  }

  /** Shows it, at a term of the glossary where one is named. */
  show(term?: string): void {
    const dialog = this.querySelector('dialog');
    if (dialog?.open === false) dialog.showModal();
    const row = term === undefined ? null : this.querySelector<HTMLElement>(`[data-term="${CSS.escape(term)}"]`);
    row?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: 'center' });
  }

  protected override render(): TemplateResult {
    const t = this.app.text.say(help);
    const rows = this.app.text.language === 'zh' ? ZH : EN;
    return html`
      <dialog aria-labelledby="help-title" @click=${closeOnBackdrop}>
        <form method="dialog"><h2 id="help-title">${t('title')}</h2><button class="quiet">${t('close')}</button></form>
        <p>${t('intro')}</p>
        <p><a href="./docs/index.html" data-action="documentation">${t('documentation')}</a> · <a href="./docs/citing.html" data-action="cite">${t('cite')}</a></p>
        ${offline.value.state === 'unknown' ? nothing : html`<p class="offline" data-offline=${offline.value.state}>${t(`offline.${offline.value.state}`, { message: offline.value.message })}</p>`}
        <h3>${t('shortcuts')}</h3>
        <dl class="shortcuts">${SHORTCUTS.map(([keys, about]) => html`<div><dt><kbd>${this.app.text.find(help, keys) ?? keys}</kbd></dt><dd>${t(about)}</dd></div>`)}</dl>
        <h3>${t('glossary')}</h3>
        <dl class="glossary">${rows.map(([word, about], index) => html`<div data-term=${EN[index]?.[0] ?? ''} tabindex="-1"><dt>${word}</dt><dd>${about} ${namesOf(index)}</dd></div>`)}</dl>
      </dialog>`;
  }
}

/** What other systems call the concept of a row. */
function namesOf(index: number): TemplateResult | typeof nothing {
  const names = NAMES[index] ?? [];
  return names.length === 0 ? nothing : html`<small class="names">${names.join(' · ')}</small>`;
}

function closeOnBackdrop(event: Event): void {
  if (event.target instanceof HTMLDialogElement) event.target.close();
}

customElements.define('help-dialog', HelpDialog);

/** Shows the help, which is made when it is first asked for. */
export async function showHelp(app: App, term?: string): Promise<void> {
  let dialog = document.querySelector<HelpDialog>('help-dialog');
  if (dialog === null) {
    dialog = new HelpDialog();
    dialog.app = app;
    document.querySelector('servescope-page')?.append(dialog);
    await dialog.updateComplete;
  }
  dialog.show(term);
}
