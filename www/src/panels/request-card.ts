// One request, explained: what it was, what stood in front of it, and how its time was spent.
import { html, nothing, svg, type TemplateResult } from 'lit';
import { LightElement } from '../element.js';
import type { Explanation } from '../simulation/types.js';
import type { Watchable } from '../state/topic.js';

const WIDTH = 400;

export class RequestCard extends LightElement {
  protected override watched(): Watchable[] {
    return [this.app.view];
  }

  protected override render(): TemplateResult {
    const { t } = this.app.text;
    const { selected } = this.app.view.value;
    return html`<div class="request-card" aria-live="polite">
      ${selected === null ? html`<p class="hint">${t('request.hint')}</p>` : this.#card(selected)}</div>`;
  }

  #card(request: Explanation): TemplateResult {
    const { text } = this.app;
    const { t, format } = text;
    const parts = partsOf(request);
    const total = parts.reduce((sum, part) => sum + part.seconds, 0);
    const whose = request.adapter < 0 ? t('chart.base_model') : t('request.adapter', { adapter: request.adapter, rank: request.rank });
    return html`
      <header><h3>${t('request.title', { id: String(request.id) })}</h3>
        <button type="button" class="quiet" @click=${() => { void this.app.select(null); }}>${t('request.close')}</button></header>
      <p>${t('request.facts', { user: request.user, adapter: whose, input: request.input_tokens, output: request.output_tokens })}</p>
      <p>${t('request.came', { arrival: format.seconds(request.arrival_s), ahead: request.ahead, running: request.running_at_arrival, kv: request.kv_tokens_at_arrival })}</p>
      ${request.outcome === 'completed' ? nothing : html`<p>${t('request.outcome', { outcome: text.outcome(request.outcome) })}</p>`}
      ${total > 0 ? html`
        <svg class="split-bar" viewBox="0 0 ${WIDTH} 16" preserveAspectRatio="none" aria-hidden="true">${bars(parts, total)}</svg>
        <dl class="split">${parts.map(({ role, seconds }) => html`
          <div><dt data-role=${role}>${text.named('role.', role)}</dt><dd>${format.seconds(seconds)}</dd></div>`)}
          <div><dt>${t('role.e2e')}</dt><dd>${format.seconds(total)}</dd></div></dl>` : nothing}
      <p class="why" data-reason=${request.reason}>${text.reason(request.reason, request.params)}</p>`;
  }
}

interface Part { role: string; seconds: number }

function partsOf(request: Explanation): Part[] {
  return [
    { role: 'queue', seconds: request.queue_s },
    { role: 'load', seconds: request.adapter_load_s },
    { role: 'prefill', seconds: request.prefill_s },
    { role: 'stalled', seconds: request.stalled_s },
    { role: 'decode', seconds: request.decode_s },
  ];
}

function bars(parts: readonly Part[], total: number): unknown {
  let from = 0;
  return parts.map(({ role, seconds }) => {
    const width = (seconds / total) * WIDTH;
    const bar = svg`<rect class="face" data-role=${role} x=${from.toFixed(2)} y="0" height="16" width=${width.toFixed(2)}/>`;
    from += width;
    return bar;
  });
}

customElements.define('request-card', RequestCard);
