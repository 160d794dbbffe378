// The Learn tab: every preset with what it shows, in groups. One that is chosen opens in Explore.
import { html, type TemplateResult } from 'lit';
import type { App } from '../app.js';
import { LightElement } from '../element.js';
import { presetOf, presetWords, PRESET_GROUPS } from '../state/presets.js';
import type { Watchable } from '../state/topic.js';

export function learnPage(app: App): LearnPage {
  const page = new LearnPage();
  page.app = app;
  return page;
}

export class LearnPage extends LightElement {
  protected override watched(): Watchable[] {
    return [this.app.shown];
  }

  protected override look(): string {
    return presetOf(this.app.presets, this.app.store.values.value)?.id ?? '';
  }

  protected override render(): TemplateResult {
    const { app } = this;
    const { t } = app.text;
    const chosen = presetOf(app.presets, app.store.values.value)?.id;
    return html`
      <p class="about">${t('learn.about')}</p>
      ${PRESET_GROUPS.map((group) => html`
        <section aria-labelledby="learn-${group}" data-preset-group=${group}>
          <h2 id="learn-${group}">${t(`learn.${group}`)}</h2>
          <ul class="presets">${app.presets.filter((preset) => preset.group === group).map((preset) => {
            const { title, about } = presetWords(app.text, preset);
            return html`<li><button type="button" data-preset=${preset.id} aria-pressed=${chosen === preset.id} @click=${() => { app.take(preset); }}>
              <b>${title}</b> <small>${about}</small></button></li>`;
          })}</ul>
        </section>`)}`;
  }
}

customElements.define('learn-page', LearnPage);
