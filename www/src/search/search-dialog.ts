// The search: a box, and below it what was found, chosen with the arrow keys or the mouse.
import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { LightElement } from '../app/element.js';
import { search } from '../i18n/en/search.js';
import type { Watchable } from '../lib/topic.js';
import { entriesOf, goTo, wantEntries } from './entries.js';
import { find, type Entry } from './find.js';
import './search-dialog.css';

export class SearchDialog extends LightElement {
  static override properties = { ...LightElement.properties, query: { state: true }, chosen: { state: true } };
  declare query: string;
  declare chosen: number;
  #entries: readonly Entry[] = [];
  /** What stood in the list when further entries came: each keeps its place until the query is another one. */
  #kept: { query: string; found: readonly Entry[] } | null = null;

  protected override watched(): Watchable[] {
    return [];
  }

  show(query: string): void {
    const dialog = this.querySelector('dialog');
    if (dialog === null || dialog.open) return;
    this.#entries = entriesOf(this.app);
    this.#ask(query);
    void wantEntries().then(() => { this.#takeLate(); });
    const box = this.querySelector('input');
    if (box !== null) box.value = query;
    dialog.showModal();
  }

  #ask(query: string): void {
    this.#kept = null;
    this.query = query;
    this.chosen = 0;
  }

  /** Lessons may come while a person is about to press: in a list that is shown they come last. */
  #takeLate(): void {
    const query = this.query ?? '';
    const [before, found] = [this.#entries, this.#found(query)];
    this.#entries = entriesOf(this.app);
    const late = this.#entries.filter(({ kind, id }) => !before.some((entry) => entry.kind === kind && entry.id === id));
    this.#kept = { query, found: [...found, ...find(late, query)] };
    this.requestUpdate();
  }

  #found(query: string): readonly Entry[] {
    return this.#kept?.query === query ? this.#kept.found : find(this.#entries, query);
  }

  protected override render(): TemplateResult {
    const t = this.app.text.say(search);
    const query = this.query ?? '';
    const found = this.#found(query);
    const chosen = Math.min(this.chosen ?? 0, found.length - 1);
    return html`
      <dialog class="search" aria-label=${t('label')} @click=${closeOnBackdrop}>
        <input type="text" role="combobox" autocomplete="off" spellcheck="false" aria-label=${t('label')} placeholder=${t('placeholder')}
          aria-expanded=${found.length > 0} aria-controls="search-results" aria-activedescendant=${found.length > 0 ? `found-${String(chosen)}` : nothing}
          @input=${(event: Event) => { this.#ask((event.target as HTMLInputElement).value); }}
          @keydown=${(event: KeyboardEvent) => { this.#key(event, found, chosen); }}>
        <ul role="listbox" id="search-results" aria-label=${t('label')} ?hidden=${found.length === 0}>${found.map((entry, index) => html`
          <li role="option" id="found-${index}" data-found=${entry.kind} data-id=${entry.id} aria-selected=${index === chosen} @click=${() => { this.#go(entry); }}>
            <b>${entry.label}</b> <small class="kind">${t(`kind.${entry.kind}`)}</small><small class="about">${entry.about}</small></li>`)}</ul>
        <p class="search-state" role="status">${query.trim() === '' ? t('hint') : found.length === 0 ? t('none', { query }) : t('found', { count: found.length })}</p>
      </dialog>`;
  }

  protected override updated(changed: PropertyValues): void {
    if (changed.has('chosen')) this.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }

  #key(event: KeyboardEvent, found: readonly Entry[], chosen: number): void {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined && found.length > 0) {
      event.preventDefault();
      this.chosen = (chosen + by + found.length) % found.length;
    } else if (event.key === 'Enter') {
      event.preventDefault();
      const entry = found[chosen];
      if (entry !== undefined) this.#go(entry);
    } else if (event.key === 'Escape') {
      event.preventDefault();
      this.#close();
    }
    // The page's own keys are not meant here.
    event.stopPropagation();
  }

  /** The box would keep the focus until the next frame where nothing had it before, and take a key that is meant for the page. */
  #close(): void {
    this.querySelector('dialog')?.close();
    this.querySelector('input')?.blur();
  }

  #go(entry: Entry): void {
    this.#close();
    goTo(this.app, entry);
  }
}

function closeOnBackdrop(event: Event): void {
  if (event.target instanceof HTMLDialogElement) event.target.close();
}

customElements.define('search-dialog', SearchDialog);

/** Shows the search, which is made when it is first asked for, with what was `typed` until then in its box. */
export async function showSearch(app: App, typed: () => string = () => ''): Promise<void> {
  let dialog = document.querySelector<SearchDialog>('search-dialog');
  if (dialog === null) {
    dialog = new SearchDialog();
    dialog.app = app;
    document.querySelector('servescope-page')?.append(dialog);
    await dialog.updateComplete;
  }
  dialog.show(typed());
}
