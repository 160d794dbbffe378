// Name, presets, undo, sharing, files, language, theme, help.
import { html, nothing, type TemplateResult } from 'lit';
import { LightElement } from '../app/element.js';
import type { MessageKey } from '../i18n/text.js';
import { presetOf, presetWords, PRESET_GROUPS, type Preset } from '../state/presets.js';
import { TABS } from '../state/session.js';
import { nextTheme } from '../state/settings.js';
import type { Watchable } from '../lib/topic.js';
import { shareItems } from './export-all.js';
import { menu } from '../ui/menu.js';
import { openFiles } from '../files/file-door.js';
import { part } from '../lib/part.js';

export class PageHeader extends LightElement {
  static override properties = { ...LightElement.properties, open: { state: true } };
  /** On a phone, whether what does not fit into one row is unfolded. */
  declare open: boolean | undefined;

  protected override watched(): Watchable[] {
    return [this.app.shown, this.app.origin, this.app.editor.history.reach, this.app.view];
  }

  /** A dragged slider changes none of it but once. */
  protected override look(): string {
    const { editor, presets, store, view } = this.app;
    const { undo, redo } = editor.history.reach.value;
    const exact = presetOf(presets, store.values.value)?.id ?? '';
    return `${String(this.open === true)} ${view.value.tab} ${Number(undo)}${Number(redo)} ${exact} ${String(this.app.origin.value)} ${String(store.resolved.values['scheduler.kind'])}`;
  }

  protected override render(): TemplateResult {
    const { app } = this;
    const { t } = app.text;
    const { undo, redo } = app.editor.history.reach.value;
    this.classList.toggle('open', this.open === true);
    return html`
      <h1>Servescope</h1>
      <nav class="tabs" aria-label=${t('tab.label')}>${TABS.map((tab) => html`
        <button type="button" data-tab=${tab} aria-current=${app.view.value.tab === tab ? 'page' : 'false'} @click=${() => { app.show(tab); }}>${t(`tab.${tab}`)}</button>`)}
      </nav>
      <button type="button" class="icon" data-action="search" aria-label=${t('menu.search')} title=${t('menu.search')} aria-keyshortcuts="/"
        @click=${() => { void part(() => import('../search/search-dialog.js')).then(({ showSearch }) => showSearch(app)); }}>⌕</button>
      <button type="button" class="icon more" data-action="more" aria-label=${t('menu.more')} title=${t('menu.more')} aria-expanded=${this.open === true} aria-controls="header-rest" @click=${() => { this.open = this.open !== true; }}>☰</button>
      <div class="rest" id="header-rest">
      ${this.#presets()}
      <div class="group">
        <button type="button" class="icon" ?disabled=${!undo} aria-label=${t('menu.undo')} title=${t('menu.undo')} @click=${() => { app.editor.undo(); }}>↶</button>
        <button type="button" class="icon" ?disabled=${!redo} aria-label=${t('menu.redo')} title=${t('menu.redo')} @click=${() => { app.editor.redo(); }}>↷</button>
      </div>
      <div class="group end">
        <button type="button" data-action="open" title=${t('menu.open_title')} @click=${() => { void part(() => import('../files/open-dialog.js')).then(({ showOpening }) => showOpening(app)); }}>${t('menu.open')}</button>
        ${menu({ id: 'menu-share', className: 'share', label: t('menu.share'), content: shareItems(app) })}
        <input type="file" hidden multiple accept=".csv,.json,.jsonl,.yaml,.yml,.txt,.sh,.gz" aria-label=${t('menu.open')} @change=${(event: Event) => { this.#opened(event); }}>
        ${this.#settings()}
      </div>
      </div>`;
  }

  #presets(): TemplateResult {
    const { app } = this;
    const { text } = app;
    const values = app.store.values.value;
    const exact = presetOf(app.presets, values);
    const from = app.origin.value;
    const words = (preset: Preset): { title: string; about: string } => presetWords(text, preset);
    const origin = app.presets.find(({ id }) => id === from);
    const name = origin === undefined ? text.t('menu.custom') : words(origin).title;
    const modified = exact === undefined && from !== null;
    const item = (preset: Preset): TemplateResult => html`
      <button type="button" class="preset" data-preset=${preset.id} aria-pressed=${exact?.id === preset.id} @click=${() => { app.take(preset); }}><b>${words(preset).title}</b> <small>${words(preset).about}</small></button>`;
    return menu({
      id: 'menu-presets', className: 'presets', name: `${text.t('menu.presets')}: ${name}`,
      label: html`<span data-preset=${from ?? ''} data-modified=${String(modified)}>${name}${modified ? html` <small>(${text.t('menu.modified')})</small>` : nothing}</span>`,
      content: PRESET_GROUPS.map((group) => html`<small class="menu-group">${text.t(`learn.${group}`)}</small>${app.presets.filter((preset) => preset.group === group).map(item)}`),
    });
  }

  #settings(): TemplateResult {
    const { app } = this;
    const { t } = app.text;
    const { theme, language } = app.settings.value;
    const themeName: MessageKey = `menu.theme_${theme}`;
    return html`
      <button type="button" class="icon" data-action="language" lang=${language === 'en' ? 'zh' : 'en'} aria-label=${t('menu.language_label')} title=${t('menu.language_label')}
        @click=${() => { void app.speak(language === 'en' ? 'zh' : 'en'); }}>${t('menu.language')}</button>
      <button type="button" class="icon" data-action="theme" data-theme=${theme} aria-label=${t(themeName)} title=${t(themeName)} @click=${() => { nextTheme(app.settings); }}>${{ auto: '◐', light: '☀', dark: '☾' }[theme]}</button>
      <button type="button" class="icon" aria-label=${t('menu.help')} title=${t('menu.help')} @click=${() => { void part(() => import('../help/help-dialog.js')).then(({ showHelp }) => showHelp(app)); }}>?</button>`;
  }

  #opened(event: Event): void {
    const input = event.target as HTMLInputElement;
    void openFiles(this.app, [...(input.files ?? [])]);
    // The same file chosen again is a change too.
    input.value = '';
  }
}

customElements.define('page-header', PageHeader);
