// Where the time charts end before the run does: the drain behind the traffic is left out unless a person asks for it.
import { html, nothing, type TemplateResult } from 'lit';
import { LightElement } from '../app/element.js';
import { partsOf, type Watchable } from '../lib/topic.js';

export class DrainNote extends LightElement {
  protected override watched(): Watchable[] {
    return [partsOf(this.app.session, ({ answer }) => answer?.charts.get('rates')), partsOf(this.app.view, ({ window }) => window)];
  }

  protected override render(): TemplateResult | typeof nothing {
    const { app } = this;
    const { t, format } = app.text;
    const { answer } = app.session.value;
    const shown = answer?.charts.get('rates')?.x.max;
    if (answer === null || shown === undefined || app.view.value.window !== null || shown >= answer.summary.makespan_s) return nothing;
    const { makespan_s: end } = answer.summary;
    return html`<p class="drain-note">${t('drain.shown', { shown: format.seconds(shown), end: format.seconds(end) })}
      <button type="button" class="quiet" data-action="whole-run" @click=${() => { void app.look({ window: [0, end] }); }}>${t('drain.whole')}</button></p>`;
  }
}

customElements.define('drain-note', DrainNote);
