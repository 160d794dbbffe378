// One request, explained: what it was, what stood in front of it, and where its time went.
import { html, nothing, type TemplateResult } from 'lit';
import { LightElement } from '../app/element.js';
import type { RequestFacts } from '../simulation/types.js';
import type { Watchable } from '../lib/topic.js';
import { Parts } from '../ui/parts.js';
import { part } from '../lib/part.js';

export class RequestCard extends LightElement {
  readonly #parts = new Parts<'why'>(() => { this.requestUpdate(); });

  protected override watched(): Watchable[] {
    return [this.app.view];
  }

  protected override render(): TemplateResult {
    const { t } = this.app.text;
    const { selected } = this.app.view.value;
    return html`<div class="request-card">
      ${selected === null ? html`<p class="hint">${t('request.hint')}</p>` : this.#card(selected)}</div>`;
  }

  #card(request: RequestFacts): TemplateResult {
    const { text } = this.app;
    const { t, format } = text;
    const whose = request.adapter < 0 ? t('chart.base_model') : t('request.adapter', { adapter: request.adapter, rank: request.rank });
    return html`
      <header><h3 aria-live="polite">${t(request.id === this.app.session.value.answer?.summary.extra_request ? 'request.title_own' : 'request.title', { id: String(request.id) })}</h3>
        <button type="button" class="quiet" @click=${() => { void this.app.select(null); }}>${t('request.close')}</button></header>
      <p>${t('request.facts', { user: request.user, adapter: whose, input: request.input_tokens, output: request.output_tokens })}</p>
      <p>${t('request.came', { arrival: format.seconds(request.arrival_s), ahead: request.ahead, running: request.running_at_arrival, kv: request.kv_tokens_at_arrival })}</p>
      ${request.cached_tokens === null ? nothing : html`<p>${t((request.host_tokens ?? 0) > 0 ? 'request.found_host' : 'request.found', { cached: request.cached_tokens, host: request.host_tokens ?? 0, input: request.input_tokens })}</p>`}
      ${request.outcome === 'completed' ? nothing : html`<p>${t('request.outcome', { outcome: text.outcome(request.outcome) })}</p>`}
      ${this.#why()}`;
  }

  /** Where its time went: fetched with the first card. */
  #why(): unknown {
    const { t } = this.app.text;
    this.#parts.want('why', () => part(() => import('../why/request-why.js')));
    switch (this.#parts.state('why')) {
      case null: case 'fetching': return html`<p class="hint">${t('tab.loading')}</p>`;
      case 'there': return html`<request-why .app=${this.app}></request-why>`;
      case 'missing': return html`<p class="notice error" role="alert" data-missing="why">${t('tab.missing')}
        <button type="button" @click=${() => { this.#parts.again('why'); }}>${t('tab.again')}</button></p>`;
    }
  }
}

customElements.define('request-card', RequestCard);
