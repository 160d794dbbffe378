// The numbers that answer first, each with its change since the last setting. Spoken at most once a second.
import { html, nothing, type TemplateResult } from 'lit';
import { definition } from '../ui/definition.js';
import { LightElement } from '../app/element.js';
import { secondsParts } from '../i18n/format.js';
import type { Text } from '../i18n/text.js';
import { partsOf, type Watchable } from '../lib/topic.js';
import { loadOf } from './load-state.js';
import { changeOf } from './change.js';
import { expectedError } from './expected-error.js';
import { gpuDetails, loadNumber, sloCapacity } from './load-number.js';
import { FIRST, METRICS, type Metric, type Note } from './metrics.js';
import { seedRangesOf } from './seed-ranges.js';
import { setSeeds } from '../state/settings.js';
import type { SeedRange } from '../simulation/types.js';
import { boundsOf } from './slo-bounds.js';

const SPEAK_EVERY_MS = 1000;

export class HeadlineNumbers extends LightElement {
  #sight: IntersectionObserver | undefined;
  #speaking: ReturnType<typeof setTimeout> | undefined;

  protected override watched(): Watchable[] {
    return [partsOf(this.app.session, ({ answer }) => answer?.summary, ({ answer }) => answer?.preview, ({ former }) => former), this.app.belonging.stale, loadOf(this.app).answer, seedRangesOf(this.app).answer];
  }

  protected override render(): TemplateResult {
    const { t } = this.app.text;
    const { answer } = this.app.session.value;
    return html`
      <i class="headline-top" aria-hidden="true"></i>
      <dl class="headline first" data-seeds=${seedRangesOf(this.app).answer.value.state} aria-label=${t('headline.label')}>${METRICS.slice(0, FIRST).map((metric) => this.#metric(metric))}</dl>
      ${expectedError(this.app)}
      <details class="headline-rest"><summary>${t('headline.more')}</summary>
      <dl class="headline" aria-label=${t('headline.more')}>${METRICS.slice(FIRST).map((metric) => this.#metric(metric))}${loadNumber(this.app)}</dl>
      <p class="headline-details" ?hidden=${answer === null}>${t('headline.pd')} <b data-metric="pd_ratio" data-value=${answer?.summary.pd_ratio ?? ''}>${this.app.text.format.of('number', answer?.summary.pd_ratio ?? null)}</b>${gpuDetails(this.app)}</p>
      ${this.#seeds()}</details>
      <p class="preview-note" ?hidden=${answer?.preview !== true || this.app.belonging.stale.value !== null}>${t('headline.preview')}</p>
      <output class="visually-hidden" aria-live="polite"></output>`;
  }

  protected override updated(): void {
    if (this.#speaking !== undefined) return;
    this.#speaking = setTimeout(() => {
      this.#speaking = undefined;
      const output = this.querySelector('output');
      if (output !== null && this.app.session.value.state === 'ready' && this.app.belonging.stale.value === null) output.textContent = this.#sentence();
    }, SPEAK_EVERY_MS);
  }

  /** Scrolled past, the numbers stay at the top as one line; what they lose in height is kept free below them. */
  protected override firstUpdated(): void {
    const [top, numbers] = [this.querySelector('.headline-top'), this.querySelector<HTMLElement>('.headline.first')];
    if (top === null || numbers === null) return;
    this.#sight = new IntersectionObserver(([entry]) => {
      const isPast = entry !== undefined && !entry.isIntersecting && entry.boundingClientRect.top < innerHeight / 2;
      if (numbers.classList.contains('stuck') === isPast) return;
      const before = numbers.offsetHeight;
      numbers.classList.toggle('stuck', isPast);
      numbers.style.setProperty('--lost', `${String(isPast ? before - numbers.offsetHeight : 0)}px`);
    }, { rootMargin: `-${String(document.querySelector('header.top')?.getBoundingClientRect().height ?? 0)}px 0px 0px` });
    this.#sight.observe(top);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#sight?.disconnect();
  }

  #metric(metric: Metric): TemplateResult {
    const { text, session } = this.app;
    const { answer, former } = session.value;
    const value = answer === null ? null : metric.of(answer.summary);
    const before = former === null || this.app.belonging.stale.value !== null ? null : metric.of(former.summary);
    const [number, unit] = answer === null ? [text.format.of(metric.kind, null), this.app.belonging.stale.value === null ? '' : text.t('metric.no_run')] : parts(text, metric, value);
    const range = seedRangesOf(this.app).answer.value.ranges?.[metric.id];
    const { answer: { value: { hasOtherRate } } } = seedRangesOf(this.app);
    const change = changeOf(text, metric, value, before, range?.is_clear === true && !hasOtherRate ? range.difference : null);
    return html`
      <div class="metric" data-metric=${metric.id} data-value=${value ?? ''} data-low=${range?.low ?? nothing} data-high=${range?.high ?? nothing}>
        <dt>${definition(`about-${metric.id}`, text.t(metric.label), text.t(metric.about))}</dt>
        <dd><b>${number}</b> <small class="metric-unit">${unit}</small>
          <small class="change ${change.tone}"><i aria-hidden="true">${change.shown}</i><em class="visually-hidden">${change.spoken}</em></small></dd>
        ${this.#range(metric, range)}
        ${metric.id !== 'slo.attainment_all' ? nothing : html`<dd class="metric-note slo-bounds">${answer === null ? nothing : `(${boundsOf(text, answer.summary.slo)})`}</dd>${sloCapacity(this.app)}`}
        ${metric.notes.map((note) => this.#note(note))}
      </div>`;
  }

  /** Empty where there is none, so that nothing moves when it comes. */
  #range(metric: Metric, range: SeedRange | undefined): TemplateResult {
    const { text } = this.app;
    if (range === undefined) return html`<dd class="metric-range"></dd>`;
    const said = range.low === range.high ? text.t('metric.range.same') : rangeOf(text, metric, range);
    return html`<dd class="metric-range">${definition(`about-range-${metric.id}`, said, text.t('metric.range.about', { seeds: text.format.whole(range.seeds) }))}</dd>`;
  }

  /** What the ranges are of, and the choice to have none. */
  #seeds(): TemplateResult {
    const { app } = this;
    const { t, format } = app.text;
    const { state, seeds } = seedRangesOf(app).answer.value;
    const said = { off: t('seeds.off'), waiting: '', running: t('seeds.running'), done: t('seeds.of', { seeds: format.whole(seeds) }), alone: t('seeds.alone') }[state];
    return html`<p class="headline-details seeds">${said} <button type="button" class="quiet" data-action="ranges" @click=${() => { setSeeds(app.settings, state === 'off'); }}>${t(state === 'off' ? 'seeds.turn_on' : 'seeds.turn_off')}</button></p>`;
  }

  #note(note: Note): TemplateResult | typeof nothing {
    const { text, session } = this.app;
    const { answer } = session.value;
    const value = answer === null ? null : note.of(answer.summary);
    if (value === null) return nothing;
    return html`<dd class="metric-note" data-metric=${note.id} data-value=${value}>${text.t(note.says, { value: text.format.of(note.kind, value) })}</dd>`;
  }

  #sentence(): string {
    const { text, session } = this.app;
    const { answer } = session.value;
    if (answer === null) return '';
    return text.list(METRICS.slice(0, FIRST).map((metric) => {
      const value = metric.of(answer.summary);
      return `${text.t(metric.label)} ${parts(text, metric, value).join(' ')}`;
    }));
  }
}

function parts(text: Text, metric: Metric, value: number | null): [string, string] {
  if (value === null) return [text.format.of(metric.kind, null), text.t('metric.missing')];
  switch (metric.kind) {
    case 'seconds': {
      const [amount, unit] = secondsParts(value);
      return [text.format.short(amount), text.unit(unit)];
    }
    case 'share': return [text.format.short(value * 100), '%'];
    case 'count': return [text.format.whole(value), ''];
    case 'number': return [text.format.short(value), text.unit(metric.unit)];
  }
}

/** The unit once where both ends have the same. */
function rangeOf(text: Text, metric: Metric, { low, high }: SeedRange): string {
  const ends = [parts(text, metric, low), parts(text, metric, high)] as const;
  const [from, to] = ends.map(([amount, unit]) => text.format.withUnit(amount, unit)) as [string, string];
  return text.t('metric.range', { low: ends[0][1] === ends[1][1] ? ends[0][0] : from, high: to });
}

customElements.define('headline-numbers', HeadlineNumbers);
