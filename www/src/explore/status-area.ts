// What is going on: progress, the trace in use, warnings of the run, notices.
import { html, nothing, type TemplateResult } from 'lit';
import { loadOf } from '../headline/load-state.js';
import { isOfControl } from '../controls/control-note.js';
import { LightElement } from '../app/element.js';
import type { Diagnostic, WaitCause } from '../simulation/types.js';
import { formatName } from '../i18n/format-names.js';
import type { MessageKey, Text } from '../i18n/text.js';
import { partsOf, type Watchable } from '../lib/topic.js';
import { vars } from '../ui/style-vars.js';
import { firstFew } from '../ui/diagnostic-lines.js';

export class StatusArea extends LightElement {
  protected override watched(): Watchable[] {
    const { traceFile } = this.app;
    return [partsOf(this.app.session, ({ answer }) => answer?.summary, ({ progress }) => progress), traceFile.info, traceFile.loading, this.app.notices.list, loadOf(this.app).answer, partsOf(this.app.view, ({ tab }) => tab)];
  }

  protected override render(): TemplateResult {
    const { app } = this;
    const { text } = app;
    const { answer } = app.session.value;
    // A setting without effect says so beside its control, and a lesson says itself what there is to know of its run.
    const all = app.view.value.tab === 'learn' ? [] : [...(answer?.summary.warnings ?? []), ...(app.traceFile.info.value?.warnings ?? [])];
    const warnings = all.filter(({ code }) => !isOfControl(code));
    const causes = warnings.length === 0 ? [] : loadOf(app).answer.value.causes;
    return html`
      ${this.#progress()}
      <div class="notices" role="status">${app.notices.list.value.map(({ id, kind, what, text: words, action }) => html`
        <p class="notice ${kind} ${action === undefined ? '' : 'offer'}" data-notice=${what}><span title=${words()}>${words()}</span>
          ${action === undefined ? nothing : html`<button type="button" class="act" @click=${action.run}>${text.t(action.label)}</button>`}
          <button type="button" class="quiet" @click=${() => { app.notices.dismiss(id); }}>${text.t('notice.dismiss')}</button></p>`)}
      </div>
      ${this.#trace()}
      <div class="warnings of-run" role="group" aria-label=${text.t('warnings.label')} ?hidden=${warnings.length === 0}>
        ${causes.length === 0 ? nothing : html`<ul>${causes.map((cause) => html`<li data-code="cause" data-suspect=${cause.suspect}>${causeText(text, cause)}</li>`)}</ul>`}
        ${firstFew(app, warnings, (warning) => html`<li data-code=${warning.code}>${app.text.diagnostic(warning)} ${this.#remedy(warning)}</li>`, (lines) => html`<ul>${lines}</ul>`)}
      </div>`;
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
      <p class="trace-in-use" data-name=${trace.name} data-requests=${trace.requests}>${t('trace.using', { name: trace.name, format: formatName(trace.format), requests: trace.requests, span: format.seconds(trace.span_s) })}
        <button type="button" @click=${() => { void app.traceFile.clear(); }}>${t('trace.back')}</button></p>`;
  }
}

/** What makes requests wait, with what it costs. */
export function causeText(text: Text, { suspect, metric, seeds, ...values }: WaitCause): string {
  const { t, format } = text;
  const of = (value: number): string => (metric === 'throughput_rps' ? format.short(value) : format.seconds(value));
  const [given, without] = [of(values.with), of(values.without)];
  const better = t(metric === 'throughput_rps' ? 'cause.throughput' : 'cause.ttft', { given, without });
  const runs = seeds === 1 ? t('cause.one_run') : t('cause.seeds', { seeds });
  const sentence = OWN_SENTENCE[suspect];
  if (sentence !== undefined) return t(sentence, { better, runs });
  return t('cause.limit', { what: t(LIMITS[suspect] ?? 'cause.what.concurrency'), better, runs });
}

/** What has a sentence of its own, that says what the runs without it have in its place. */
const OWN_SENTENCE: Readonly<Record<string, 'cause.replicas' | 'cause.adapter_slots' | 'cause.batch_cap' | 'cause.token_budget' | 'cause.cold_start' | 'cause.failures'>> = {
  replicas: 'cause.replicas', adapter_slots: 'cause.adapter_slots', batch_cap: 'cause.batch_cap', token_budget: 'cause.token_budget', cold_start: 'cause.cold_start', failures: 'cause.failures',
};

const LIMITS: Readonly<Record<string, MessageKey>> = {
  rpm: 'cause.what.rpm', tpm: 'cause.what.tpm', concurrency: 'cause.what.concurrency', kv: 'cause.what.kv', fair_share: 'cause.what.fair_share',
};

/** The limits that accept the requests of a trace file, by parameter. */
function raisedBy({ code, params: { settings } }: Diagnostic): Record<string, number> | null {
  if (code !== 'limits_too_low' || typeof settings !== 'string') return null;
  return Object.fromEntries(settings.split(' ').map((setting) => {
    const [id = '', value = ''] = setting.split('=');
    return [id, Number(value)];
  }));
}

customElements.define('status-area', StatusArea);
