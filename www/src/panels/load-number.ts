// The load as a headline number, and what stands beside it: how busy the GPU is, and what is made of it.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app.js';
import { estimateOf, loadOf } from '../capacity/load-state.js';
import { definition } from '../definition.js';
import type { MessageKey } from '../i18n/text.js';

/** The load as a share of the capacity; an estimate, marked as one, until a search has found it. */
export function loadNumber(app: App): TemplateResult {
  const { text } = app;
  const summary = app.session.value.answer?.summary;
  const { state, load } = loadOf(app).answer.value;
  const estimate = summary === undefined ? null : estimateOf(summary, app.store.resolved.values);
  const share = load?.share ?? estimate?.share ?? null;
  const sign = load === null ? (estimate?.sign ?? '') : '';
  const note = load !== null
    ? text.t('load.of', { load: text.format.short(load.load_rps), capacity: text.format.short(load.capacity_rps) })
    : share === null ? '' : text.t(state === 'unknown' ? 'load.estimate' : 'load.searching');
  return html`
    <div class="metric" data-metric="load.share" data-value=${share ?? ''} data-state=${load === null ? 'estimate' : 'found'}>
      <dt>${definition('about-load', text.t('load.label'), text.t('load.about'))}</dt>
      <dd><b>${share === null ? text.format.of('share', null) : `${sign}${text.format.short(share * 100)}`}</b> <small class="metric-unit">${share === null ? '' : '%'}</small></dd>
      ${note === '' ? nothing : html`<dd class="metric-note">${note}</dd>`}
    </div>`;
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
