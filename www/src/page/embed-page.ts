// One chart with a few sliders, or a screen of a lesson, for a frame in another page.
import { html, nothing, type TemplateResult } from 'lit';
import '../controls/parameter-control.js';
import '../draw/chart-view.js';
import { LightElement } from '../app/element.js';
import { EMBEDDED_LESSON } from '../state/address.js';
import type { Watchable } from '../lib/topic.js';
import { Parts } from '../ui/parts.js';
import './embed.css';
import { part } from '../lib/part.js';
import { learnTab } from './sections.js';

export class EmbedPage extends LightElement {
  readonly #parts = new Parts<'learn' | 'feed'>(() => { this.requestUpdate(); });

  protected override watched(): Watchable[] {
    const { app } = this;
    return [app.session, app.shown, app.errors, app.editor.drafts, app.view];
  }

  protected override render(): TemplateResult {
    const { app } = this;
    const { t } = app.text;
    const { chart = '', controls = [] } = app.embed ?? {};
    if (chart === EMBEDDED_LESSON) return this.#lesson();
    const { answer } = app.session.value;
    const isUnknown = answer !== null && !answer.charts.has(chart);
    const errors = app.errors.value;
    return html`
      <main class="embed" aria-label=${t('page.results')}>
        ${errors.length === 0 ? nothing : html`<p class="notice error" role="status">${app.text.diagnostics(errors, (error) => app.named(error))}</p>`}
        ${isUnknown ? html`<p class="notice error" role="alert" data-unknown=${chart}>${t('embed.unknown', { chart })}</p>`
          : this.#chart(chart)}
        <div class="embed-controls">${controls.map((path) => {
          const parameter = app.parameters.get(path);
          return parameter === undefined
            ? html`<p class="notice error" data-unknown=${path}>${t('embed.unknown_control', { path })}</p>`
            : html`<parameter-control .app=${app} .parameter=${parameter}></parameter-control>`;
        })}</div>
        ${this.#foot()}
      </main>`;
  }

  /** A chart of the gateway or of the replicas has its words in their script. */
  #chart(chart: string): TemplateResult {
    const { app } = this;
    const own = app.text.named('', `chart.${chart}`) === `chart.${chart}`;
    if (own) this.#parts.want('feed', () => part(() => import('../gateway/feed-of-chart.js')).then(({ feedOfChart }) => feedOfChart(app, chart)));
    if (own && this.#parts.state('feed') !== 'there') return html`<p role="status">${app.text.t('tab.loading')}</p>`;
    return html`<chart-view class="of-run" .app=${app} .name=${chart} .feed=${own ? this.#parts.value('feed') : undefined}></chart-view>`;
  }

  #foot(): TemplateResult {
    const { app } = this;
    return html`<p class="embed-foot"><a href=${app.linkShowing(null)} target="_blank" rel="noopener" data-action="whole">${app.text.t('embed.open')}</a></p>`;
  }

  #lesson(): TemplateResult {
    const { app } = this;
    const { t } = app.text;
    this.#parts.want('learn', () => learnTab(app));
    const state = this.#parts.state('learn');
    return html`<main class="embed lesson" aria-label=${t('page.results')}>
      ${state === 'there' ? this.#parts.value('learn') : state === 'missing' ? html`<p class="notice error" role="alert" data-missing="learn">${t('tab.missing')}
        <button type="button" @click=${() => { this.#parts.again('learn'); }}>${t('tab.again')}</button></p>` : html`<p role="status">${t('tab.loading')}</p>`}
      ${this.#foot()}
    </main>`;
  }
}

customElements.define('embed-page', EmbedPage);
