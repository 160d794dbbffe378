// What an error of the expected size would change: the same run with iterations that take longer and shorter by that share.
import { html, nothing, type TemplateResult } from 'lit';
import { LightElement } from '../app/element.js';
import { part } from '../lib/part.js';
import type { Summary } from '../simulation/types.js';
import { Cancelled, Refusal } from '../simulation/worker-link.js';
import type { Watchable } from '../lib/topic.js';
import { FIRST, METRICS } from './metrics.js';

const BIAS = 'cost.error.bias';

type Band = { state: 'idle' | 'running' | 'failed' } | { state: 'done'; ends: readonly (readonly (number | null)[])[] };

const IDLE: Band = { state: 'idle' };
const SHOWN = METRICS.slice(0, FIRST);

export class ErrorBand extends LightElement {
  static override properties = { ...LightElement.properties, summary: { attribute: false }, share: { attribute: false }, band: { state: true } };
  /** The answer whose band it is. */
  declare summary: Summary;
  /** The error, a share of the time of an iteration. */
  declare share: number;
  declare band: Band | undefined;
  #of: Summary | undefined;

  protected override watched(): Watchable[] {
    return [];
  }

  /** Of another answer nothing is known. */
  protected override willUpdate(): void {
    if (this.#of === this.summary) return;
    this.#of = this.summary;
    this.band = IDLE;
  }

  protected override render(): TemplateResult {
    const { t, format } = this.app.text;
    const percent = format.short(100 * this.share);
    const { band = IDLE } = this;
    switch (band.state) {
      case 'idle': return html`<button type="button" class="quiet" data-action="error-band" @click=${() => { void this.#run(); }}>${t('error_band.ask', { percent })}</button>`;
      case 'running': return html`<span role="status">${t('error_band.running')}</span>`;
      case 'failed': return html`<span role="status">${t('error_band.failed')}</span>`;
      case 'done': return html`<span role="status" data-error-band=${this.share}>${t('error_band.told', { percent, numbers: this.app.text.list(SHOWN.map((_, place) => this.#range(place, band.ends))) })}</span>`;
    }
  }

  #range(place: number, ends: readonly (readonly (number | null)[])[]): string {
    const { text } = this.app;
    const metric = SHOWN[place];
    if (metric === undefined) return '';
    const reported = (value: number | null): string => {
      const said = text.format.of(metric.kind, value);
      return metric.unit === '' || value === null ? said : text.format.withUnit(said, text.unit(metric.unit));
    };
    const [shorter = null, longer = null] = ends.map((end) => end[place] ?? null);
    return text.t('error_band.range', { name: text.t(metric.label), low: reported(shorter), high: reported(longer) });
  }

  async #run(): Promise<void> {
    const { app, summary, share } = this;
    const values = app.store.values.value;
    const seed = Number(app.store.resolved.values['seed']);
    const own = 1 + Number(app.store.resolved.values[BIAS]);
    this.band = { state: 'running' };
    try {
      const { inputsOf, sharedPool } = await part(() => import('../pool/shared-pool.js'));
      const inputs = await inputsOf(app);
      const ends = await Promise.all([1 - share, 1 + share].map(async (factor) => {
        const scenario = { ...values, [BIAS]: own * factor - 1 };
        const given = sharedPool().give({ kind: 'metrics', scenario, seed, metrics: SHOWN.map(({ id }) => id) }, { priority: 'asked', inputs });
        return (await given.done).values;
      }));
      if (this.summary === summary) this.band = { state: 'done', ends };
    } catch (thrown) {
      if (this.summary === summary) this.band = { state: 'failed' };
      if (!(thrown instanceof Cancelled || thrown instanceof Refusal)) throw thrown;
    }
  }
}

customElements.define('error-band', ErrorBand);

/** Nothing where no error is known. */
export function errorBand(app: ErrorBand['app'], summary: Summary): TemplateResult | typeof nothing {
  const share = summary.expected_error?.tpot;
  return share === undefined || share <= 0 || share >= 0.9 ? nothing : html`<error-band .app=${app} .summary=${summary} .share=${share}></error-band>`;
}
