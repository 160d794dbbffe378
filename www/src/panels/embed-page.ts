// One chart with a few sliders, for a frame in another page.
import { html, nothing, type TemplateResult } from 'lit';
import '../controls/parameter-control.js';
import '../draw/chart-view.js';
import { LightElement } from '../element.js';
import type { Watchable } from '../state/topic.js';
import './embed.css';

export class EmbedPage extends LightElement {
  protected override watched(): Watchable[] {
    const { app } = this;
    return [app.session, app.shown, app.errors, app.editor.drafts];
  }

  protected override render(): TemplateResult {
    const { app } = this;
    const { t } = app.text;
    const { chart = '', controls = [] } = app.embed ?? {};
    const { answer } = app.session.value;
    const isUnknown = answer !== null && !answer.charts.has(chart);
    const errors = app.errors.value;
    return html`
      <main class="embed" aria-label=${t('page.results')}>
        ${errors.length === 0 ? nothing : html`<p class="notice error" role="status">${app.text.diagnostics(errors, (error) => app.named(error))}</p>`}
        ${isUnknown ? html`<p class="notice error" role="alert" data-unknown=${chart}>${t('embed.unknown', { chart })}</p>`
          : html`<chart-view class="of-run" .app=${app} .name=${chart}></chart-view>`}
        <div class="embed-controls">${controls.map((path) => {
          const parameter = app.parameters.get(path);
          return parameter === undefined
            ? html`<p class="notice error" data-unknown=${path}>${t('embed.unknown_control', { path })}</p>`
            : html`<parameter-control .app=${app} .parameter=${parameter}></parameter-control>`;
        })}</div>
        <p class="embed-foot"><a href=${app.linkShowing(null)} target="_blank" rel="noopener" data-action="whole">${t('embed.open')}</a></p>
      </main>`;
  }
}

customElements.define('embed-page', EmbedPage);
