// One box for what people bring: what is pasted is recognised as it stands there, what will happen is said, and a button does it.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { LightElement } from '../app/element.js';
import { opening } from '../i18n/en/opening.js';
import type { RecognisedFile } from '../simulation/types.js';
import type { Watchable } from '../lib/topic.js';
import { chooseFiles } from './file-door.js';
import { modelDiagnostic } from './own-model.js';
import { openAs, recognised, settingsWords } from './open-file.js';
import './open-dialog.css';

/** How long typing has to rest until the text is looked at, ms. */
const REST_MS = 150;
const GPU = 'fleet.gpu';

/** Kinds of which nothing can be opened: the sentence says where they belong. */
const NOT_OPENED = new Set(['clients', 'operator_table', 'summary']);

export class OpenDialog extends LightElement {
  static override properties = { ...LightElement.properties, found: { state: true }, gpu: { state: true } };
  /** What the text is; `null` where there is none. */
  declare found: RecognisedFile | null;
  declare gpu: string;
  #text = '';
  #rest: ReturnType<typeof setTimeout> | undefined;
  /** Counts looks: an answer to an older one is dropped. */
  #looks = 0;

  protected override watched(): Watchable[] {
    return [];
  }

  show(text: string): void {
    const dialog = this.querySelector('dialog');
    if (dialog === null) return;
    this.gpu = String(this.app.store.resolved.values[GPU]);
    const box = this.querySelector('textarea');
    if (box !== null) box.value = text;
    if (!dialog.open) dialog.showModal();
    this.#text = text;
    void this.#look();
  }

  protected override render(): TemplateResult {
    const t = this.app.text.say(opening);
    const found = this.found ?? null;
    return html`
      <dialog class="opening" aria-labelledby="opening-title" @keydown=${(event: KeyboardEvent) => { event.stopPropagation(); }}>
        <h2 id="opening-title">${t('title')}</h2>
        <p class="about">${t('about')}</p>
        <label for="opening-text">${t('text')}</label>
        <textarea id="opening-text" rows="6" spellcheck="false" autocomplete="off" @input=${(event: Event) => { this.#typed((event.target as HTMLTextAreaElement).value); }}></textarea>
        <div class="found" role="status" data-found=${found?.kind ?? nothing}>${found === null ? html`<p>${t('empty')}</p>` : this.#words(found).map((sentence) => html`<p>${sentence}</p>`)}</div>
        ${found?.kind === 'launch_line' ? this.#gpus() : nothing}
        <div class="choices">
          <button type="button" class="primary" data-action="open-it" ?disabled=${found === null || !isOpened(found)} @click=${() => { void this.#open(); }}>${t('open')}</button>
          <button type="button" @click=${() => { this.#close(); chooseFiles(); }}>${t('files')}</button>
          <button type="button" @click=${() => { this.#close(); }}>${t('close')}</button>
        </div>
      </dialog>`;
  }

  #gpus(): TemplateResult {
    const { text, parameters } = this.app;
    const parameter = parameters.get(GPU);
    const options = parameter?.type === 'choice' ? parameter.options : [];
    return html`<label class="gpu">${text.say(opening)('gpu')}
      <select @change=${(event: Event) => { this.gpu = (event.target as HTMLSelectElement).value; void this.#look(); }}>${options.map((option) => html`
        <option value=${option} ?selected=${option === this.gpu}>${parameter === undefined ? option : text.choice(parameter, option)}</option>`)}</select></label>`;
  }

  /** What it is, what it sets, and what of it changes nothing. */
  #words(found: RecognisedFile): string[] {
    const { app } = this;
    const t = app.text.say(opening);
    const { kind, detail, command, keys } = found;
    const list = (paths: readonly string[]): string => app.text.list(settingsWords(app, paths, found.scenario));
    const is = ((): string => {
      switch (kind) {
        case 'trace': return t('found.trace', { detail });
        case 'lengths': return t('found.lengths', { detail });
        case 'result': return t('found.result', { detail });
        case 'launch_line': return t('found.launch_line', { detail });
        case 'clients': return t('found.clients', { command });
        case 'scenario': case 'table': case 'model_config': case 'adapter_config': case 'operator_table': case 'curve': case 'link': case 'summary': return t(`found.${kind}`);
        default: return t('found.unknown', { keys: keys.length === 0 ? '–' : keys.join(', ') });
      }
    })();
    const server = kind === 'launch_line' ? detail : '';
    return [
      is,
      server === 'SGLang' ? t('kernels', { detail }) : '',
      found.set.length === 0 ? '' : t('sets', { settings: list(found.set) }),
      found.unknown_flags.length === 0 ? '' : t('none', { flags: found.unknown_flags.join(', ') }),
      app.text.diagnostics(found.told, (one) => modelDiagnostic(app, one)),
    ].filter((sentence) => sentence !== '');
  }

  #typed(text: string): void {
    this.#text = text;
    clearTimeout(this.#rest);
    this.#rest = setTimeout(() => { void this.#look(); }, REST_MS);
  }

  #file(): File {
    return new File([this.#text], this.app.text.say(opening)('pasted'));
  }

  async #look(): Promise<void> {
    this.#looks += 1;
    const look = this.#looks;
    if (this.#text.trim() === '') {
      this.found = null;
      return;
    }
    const found = await recognised(this.#file(), { ...this.app.store.values.value, [GPU]: this.gpu });
    if (look === this.#looks) this.found = found;
  }

  /** A text that was just typed may not have been looked at. */
  async #open(): Promise<void> {
    clearTimeout(this.#rest);
    await this.#look();
    const { found } = this;
    if (found === null || !isOpened(found)) return;
    this.#close();
    const file = this.#file();
    await openAs(this.app, [file], file, found);
  }

  #close(): void {
    this.querySelector('dialog')?.close();
  }
}

/** Whether something happens when it is opened. What is of no known kind may still be requests whose columns have no known names. */
function isOpened({ kind }: RecognisedFile): boolean {
  return !NOT_OPENED.has(kind) && !['json', 'yaml', 'text', 'empty', 'binary'].includes(kind);
}

customElements.define('open-dialog', OpenDialog);

/** Shows the box with a text in it; it is made when it is first asked for. */
export async function showOpening(app: App, text = ''): Promise<void> {
  let dialog = document.querySelector<OpenDialog>('open-dialog');
  if (dialog === null) {
    dialog = new OpenDialog();
    dialog.app = app;
    document.querySelector('servescope-page')?.append(dialog);
    await dialog.updateComplete;
  }
  dialog.show(text);
}
