// The load of the replicas as a headline number, and what stands beside it: how busy the GPU is, and what is made of it.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { loadOf, type LoadAnswer } from './load-state.js';
import { definition } from '../ui/definition.js';
import type { MessageKey, Text } from '../i18n/text.js';

/** The load in words; until it is measured, the last one with a mark that it is of other settings, or the mark alone. */
export function loadText({ format }: Text, { load, before, over }: LoadAnswer): string {
  if (load !== null) return format.of('share', load.share);
  if (over.includes('load')) return format.of('share', null);
  return before === null ? '…' : `${format.of('share', before)} …`;
}

export function loadNumber(app: App): TemplateResult {
  const { text } = app;
  const answer = loadOf(app).answer.value;
  const { load, over } = answer;
  const state = load !== null ? 'found' : over.includes('load') ? 'unknown' : 'waiting';
  const rate = (rps: number): string => text.format.short(rps);
  return html`
    <div class="metric" data-metric="gpu.load" data-value=${load?.share ?? ''} data-state=${state}>
      <dt>${definition('about-load', text.t('load.label'), text.t('load.about'))}</dt>
      <dd><b>${loadText(text, answer)}</b></dd>
      <dd class="metric-note">${load === null ? (state === 'waiting' ? text.t('load.measuring') : nothing)
        : load.saturated_rps === null ? text.t('load.none') : text.t('load.of', { reached: rate(load.reached_rps), saturated: rate(load.saturated_rps) })}</dd>
    </div>`;
}

/** Up to which rate the SLO holds, once that was searched; its place stays free until then. */
export function sloCapacity(app: App): TemplateResult {
  const { text } = app;
  const { slo_rps: rps, over } = loadOf(app).answer.value;
  const isOver = over.includes('slo');
  return html`<dd class="metric-note slo-holds" data-metric="capacity.slo_rps" data-value=${rps ?? ''} data-state=${isOver ? 'found' : 'waiting'}>${rps === null ? '\u00a0' : text.t('slo.holds', { percentile: text.format.short(100 * Number(app.store.resolved.values['capacity.quantile'])), rate: text.format.short(rps) })}</dd>`;
}

const BESIDE: readonly { id: 'gpu.busy' | 'gpu.mfu' | 'gpu.bandwidth'; about: MessageKey; of: 'busy' | 'mfu' | 'bandwidth' }[] = [
  { id: 'gpu.busy', about: 'metric.gpu.busy.about', of: 'busy' },
  { id: 'gpu.mfu', about: 'gpu.mfu.about', of: 'mfu' },
  { id: 'gpu.bandwidth', about: 'gpu.bandwidth.about', of: 'bandwidth' },
];

/** Busy time, MFU and memory bandwidth, each with its definition; what the time model does not give is left out. */
export function gpuDetails(app: App): readonly (TemplateResult | typeof nothing)[] {
  const { text } = app;
  const gpu = app.session.value.answer?.summary.gpu;
  return BESIDE.map(({ id, about, of }) => {
    const value = gpu?.[of] ?? null;
    return value === null ? nothing : html` · ${definition(`about-${id}`, text.t(`metric.${id}`), text.t(about))} <b data-metric=${id} data-value=${value}>${text.format.share(value)}</b>`;
  });
}
