// What is going on: progress, the trace in use, warnings of the run, notices.
import { html, nothing, type TemplateResult } from 'lit';
import { inactiveReason } from '../controls/inactive.js';
import { LightElement } from '../element.js';
import type { Diagnostic } from '../simulation/types.js';
import { partsOf, type Watchable } from '../state/topic.js';
import { vars } from '../style-vars.js';

export class StatusArea extends LightElement {
  protected override watched(): Watchable[] {
    const { traceFile } = this.app;
    return [partsOf(this.app.session, ({ answer }) => answer?.summary, ({ progress }) => progress), traceFile.info, traceFile.loading, this.app.notices.list];
  }

  protected override render(): TemplateResult {
    const { app } = this;
    const { text } = app;
    const { answer } = app.session.value;
    // What acts on the capacity search only acts on this page: in the tab Plan.
    const warnings = [...(answer?.summary.warnings ?? []), ...(app.traceFile.info.value?.warnings ?? [])].filter(({ code }) => code !== 'no_effect_capacity');
    return html`
      ${this.#progress()}
      <div class="notices" role="status">${app.notices.list.value.map(({ id, kind, what, text: words, action }) => html`
        <p class="notice ${kind} ${action === undefined ? '' : 'offer'}" data-notice=${what}><span title=${words()}>${words()}</span>
          ${action === undefined ? nothing : html`<button type="button" class="act" @click=${action.run}>${text.t(action.label)}</button>`}
          <button type="button" class="quiet" @click=${() => { app.notices.dismiss(id); }}>${text.t('notice.dismiss')}</button></p>`)}
      </div>
      ${this.#trace()}
      <ul class="warnings of-run" aria-label=${text.t('warnings.label')} ?hidden=${warnings.length === 0}>
        ${warnings.map((warning) => html`<li data-code=${warning.code}>${this.#words(warning)}
          ${this.#remedy(warning)}</li>`)}
      </ul>`;
  }

  /** A warning with the names that its parameters have on the page. */
  #words(warning: Diagnostic): string {
    const { app } = this;
    const { text } = app;
    const parameter = app.parameters.get(warning.path);
    if (warning.code.startsWith('no_effect')) {
      const reason = parameter === undefined || app.belonging.stale.value !== null ? null : inactiveReason(app, parameter);
      return parameter === undefined || reason === null ? app.named(warning) : `${text.label(parameter)}: ${reason}`;
    }
    const raised = raisedBy(warning);
    if (raised === null) return text.diagnostic(warning);
    const settings = Object.entries(raised).map(([id, value]) => {
      const other = app.parameters.get(id);
      return other === undefined ? `${id} = ${String(value)}` : `${text.label(other)} ${text.value(other, value)}`;
    });
    return text.diagnostic({ ...warning, params: { ...warning.params, settings: text.list(settings) } });
  }

  /** A button that changes the settings as the warning says. */
  #remedy(warning: Diagnostic): TemplateResult | typeof nothing {
    const raised = raisedBy(warning);
    if (raised === null) return nothing;
    return html`<button type="button" class="act" data-raise-limits @click=${() => { this.app.editor.store.edit(raised, 'limits'); }}>${this.app.text.t('limits.raise')}</button>`;
  }

  #progress(): TemplateResult {
    const { app } = this;
    const { t } = app.text;
    const reading = app.traceFile.loading.value;
    const progress = reading?.fraction ?? app.session.value.progress;
    const label = reading === null ? t('progress.label') : t('progress.reading', { name: reading.name });
    return html`
      <div class="progress" role="progressbar" aria-label=${label} aria-valuemin="0" aria-valuemax="100"
        aria-valuenow=${Math.round((progress ?? 0) * 100)} ?hidden=${progress === null} ${vars({ '--part': String(progress ?? 0) })}></div>
      <p class="progress-note" ?hidden=${progress === null}>${label} <button type="button" data-action="cancel" title=${t('progress.cancel')} @click=${() => { app.cancel(); }}>${t('progress.stop')}</button></p>`;
  }

  #trace(): TemplateResult | typeof nothing {
    const { app } = this;
    const trace = app.traceFile.info.value;
    if (trace === null) return nothing;
    const { t, format } = app.text;
    return html`
      <p class="trace-in-use" data-name=${trace.name} data-requests=${trace.requests}>${t('trace.using', { name: trace.name, format: trace.format === '' ? '–' : trace.format, requests: trace.requests, span: format.seconds(trace.span_s) })}
        <button type="button" @click=${() => { void app.traceFile.clear(); }}>${t('trace.back')}</button></p>`;
  }
}

/** The limits that accept the requests of a trace file, by parameter. */
function raisedBy({ code, params: { settings } }: Diagnostic): Record<string, number> | null {
  if (code !== 'limits_too_low' || typeof settings !== 'string') return null;
  return Object.fromEntries(settings.split(' ').map((setting) => {
    const [id = '', value = ''] = setting.split('=');
    return [id, Number(value)];
  }));
}

customElements.define('status-area', StatusArea);
