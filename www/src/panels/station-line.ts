// The service as a line of stations, with numbers of the whole run, or of the cursor's moment while there is one. A
// station that is pressed marks its controls and its charts. Above them stands the picture of the run, which is fetched when
// the first result is there.
import { html, type TemplateResult } from 'lit';
import { LightElement } from '../element.js';
import { resolve } from '../simulation/module.js';
import type { ChartData, Series, Summary } from '../simulation/types.js';
import type { MessageKey } from '../i18n/text.js';
import { estimateOf, loadOf } from '../capacity/load-state.js';
import { reading, timeAverage } from '../draw/plot.js';
import { partsOf, type Watchable } from '../state/topic.js';
import { belongings, STATIONS, type Station } from '../state/stations.js';
import { part } from '../part.js';

interface Reading { value: string; unit: string }

export class StationLine extends LightElement {
  #hero: HTMLElement | null = null;

  protected override watched(): Watchable[] {
    return [loadOf(this.app).answer, partsOf(this.app.session, ({ answer }) => answer), this.app.belonging.stale, this.app.cursor, partsOf(this.app.view, ({ station }) => station)];
  }

  override connectedCallback(): void {
    super.connectedCallback();
    const { session } = this.app;
    const forget = session.subscribe(({ state }) => {
      if (state !== 'ready') return;
      forget();
      void this.#fetchHero();
    });
  }

  /** The numbers are whole without the picture: where it cannot be fetched they stand alone. */
  async #fetchHero(): Promise<void> {
    try {
      // A frame later, so that the page is ready without it.
      await new Promise((next) => { requestAnimationFrame(next); });
      const { runHero } = await part(() => import('../hero/run-hero.js'));
      this.#hero = runHero(this.app);
      this.requestUpdate();
    } catch (thrown) {
      console.warn('hero:', thrown);
    }
  }

  protected override render(): TemplateResult {
    const { app } = this;
    const { t } = app.text;
    return html`
      <nav class="stations" aria-label=${t('station.label')}>
        <ol>${STATIONS.map((station) => {
          const { value, unit } = this.#reading(station);
          const name = t(`station.${station}`);
          return html`<li><button type="button" class="station" data-station=${station} aria-pressed=${app.view.value.station === station}
            title=${`${name}: ${t('station.show')}`} @click=${() => { this.#press(station); }}>
            <small>${name}</small> <b>${value}</b> <small>${unit}</small></button></li>`;
        })}</ol>
      </nav>
      ${this.#hero}`;
  }

  #reading(station: Station): Reading {
    const { session, cursor, text } = this.app;
    const { answer } = session.value;
    const { format } = text;
    const now = cursor.value?.time ?? null;
    const number = (value: number | null): string => format.of('number', value);
    // Hundredths are enough of a mean of requests, and fit on a phone.
    const requests = (value: number | null): string => number(value === null ? null : Math.round(100 * value) / 100);
    const unit = (moment: number | null): string => unitText(this.app.text.t, station, moment !== null);
    if (answer === null) return { value: format.of('number', null), unit: unit(null) };
    const { summary } = answer;
    const at = (chart: string, role: string): number | null => momentOrMean(answer.charts.get(chart), role, now);
    switch (station) {
      case 'traffic': return { value: number(now === null ? this.#offered(summary) : at('rates', 'arrivals')), unit: unit(null) };
      case 'gateway': return { value: format.whole(summary.requests.rejected_total), unit: unit(null) };
      case 'waiting': return { value: requests(at('running_waiting', 'waiting')), unit: unit(now) };
      case 'batch': return { value: requests(now === null ? summary.batch.mean_size : at('running_waiting', 'running')), unit: unit(now) };
      case 'gpu': return { value: this.#load(summary), unit: unit(null) };
    }
  }

  /** A share of the capacity, found or estimated: of the whole run, whatever the cursor's moment is. */
  #load(summary: Summary): string {
    const { load } = loadOf(this.app).answer.value;
    const estimate = load === null ? estimateOf(summary, this.app.store.resolved.values) : null;
    const share = load?.share ?? estimate?.share ?? null;
    return `${estimate?.sign ?? ''}${this.app.text.format.of('share', share)}`;
  }

  /** As it was asked for, or as the file has it at the speed it is played. */
  #offered({ requests }: Summary): number | null {
    const { belonging, store } = this.app;
    const { values } = belonging.stale.value === null || belonging.shown === null ? store.resolved : resolve(belonging.shown.values);
    const trace = (belonging.stale.value === null ? null : belonging.shown)?.traffic.info ?? this.app.traceFile.info.value;
    const [rate, stretch] = [values['workload.rate_rps'], values['workload.trace.time_scale']];
    if (trace === null) return typeof rate === 'number' ? rate : null;
    return trace.span_s > 0 && typeof stretch === 'number' ? requests.offered / (trace.span_s * stretch) : null;
  }

  #press(station: Station): void {
    const { app } = this;
    const same = app.view.value.station === station;
    app.view.update({ station: same ? null : station });
    if (same) return;
    const belonging = belongings(station);
    const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    const reveal = (selector: string): void => {
      document.querySelector(selector)?.scrollIntoView({ block: 'nearest', behavior: calm ? 'auto' : 'smooth' });
    };
    const [chart] = belonging?.charts ?? [];
    void this.updateComplete.then(() => {
      // A group whose settings do not apply is not there.
      const group = belonging?.groups.map((name) => `#group-${name}`).find((selector) => document.querySelector(selector) !== null);
      if (group !== undefined) reveal(group);
      if (chart !== undefined) reveal(`[data-chart="${chart}"]`);
    });
  }
}

function unitText(t: (key: MessageKey) => string, station: Station, now: boolean): string {
  switch (station) {
    case 'traffic': return t('station.traffic.unit');
    case 'gateway': return t('station.gateway.unit');
    case 'waiting': return t(now ? 'station.waiting.unit_now' : 'station.waiting.unit');
    case 'batch': return t(now ? 'station.batch.unit_now' : 'station.batch.unit');
    case 'gpu': return t('station.gpu.unit');
  }
}

function seriesOf(chart: ChartData | undefined, role: string): Series | undefined {
  return chart?.series.find((series) => series.role === role);
}

function momentOrMean(chart: ChartData | undefined, role: string, now: number | null): number | null {
  const series = seriesOf(chart, role);
  if (series === undefined) return null;
  return now === null ? timeAverage(series) : reading(series, now);
}

customElements.define('station-line', StationLine);
