// The service as a line of stations. A station that is pressed marks its controls and its charts. Above them stands the picture of
// the run, which is fetched when the first result is there: the numbers count what it draws. Without it they are means of the run.
import { html, nothing, type TemplateResult } from 'lit';
import { LightElement } from '../app/element.js';
import { resolve } from '../simulation/module.js';
import type { ChartData, Moment, PlaceKind, Series, Summary } from '../simulation/types.js';
import type { MessageKey } from '../i18n/text.js';
import { loadOf } from '../headline/load-state.js';
import { reading, timeAverage } from '../draw/plot.js';
import type { RunHero } from '../hero/run-hero.js';
import { partsOf, type Watchable } from '../lib/topic.js';
import { belongings, STATIONS, type Station } from '../state/stations.js';
import { part } from '../lib/part.js';
import { loadText } from '../headline/load-number.js';

/** By this share of the rate that was set the one that arrives may differ by chance. */
const OF_CHANCE = 0.2;

interface Reading { value: string; unit: string; more?: string }

export class StationLine extends LightElement {
  #hero: RunHero | null = null;
  /** The request that was clicked in the picture. */
  #picked: number | null = null;
  #forget: () => void = () => undefined;

  protected override watched(): Watchable[] {
    return [loadOf(this.app).answer, partsOf(this.app.session, ({ answer }) => answer), this.app.belonging.stale, this.app.cursor, partsOf(this.app.view, ({ station }) => station, ({ selected }) => selected)];
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

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#forget();
  }

  /** The numbers are whole without the picture: where it cannot be fetched they stand alone. */
  async #fetchHero(): Promise<void> {
    try {
      // A frame later, so that the page is ready without it.
      await new Promise((next) => { requestAnimationFrame(next); });
      const [{ runHero }] = await Promise.all([part(() => import('../hero/run-hero.js')), part(() => import('./waiting-line.js'))]);
      const { app } = this;
      this.#hero = runHero(app);
      this.#hero.plays = true;
      this.#hero.picked = (id) => { void app.select(id).then(() => { this.#picked = id; this.requestUpdate(); }); };
      this.#forget = this.#hero.data.view.subscribe(() => { this.requestUpdate(); });
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
          const { value, unit, more } = this.#reading(station);
          const name = t(`station.${station}`);
          return html`<li><button type="button" class="station" data-station=${station} aria-pressed=${app.view.value.station === station}
            title=${`${name}: ${t('station.show')}`} @click=${() => { this.#press(station); }}>
            <small>${name}</small> <b>${value}</b> <small>${unit}</small>${more === undefined ? nothing : html` <small class="station-more">${more}</small>`}</button></li>`;
        })}</ol>
      </nav>
      ${this.#hero}${this.#hero === null ? nothing : html`<waiting-line .app=${app}></waiting-line>`}
      ${this.#picked !== null && app.view.value.selected?.id === this.#picked ? html`<request-card class="of-picture" .app=${app}></request-card>` : nothing}`;
  }

  #reading(station: Station): Reading {
    const { session, cursor, text } = this.app;
    const { answer } = session.value;
    const { format } = text;
    if (answer === null) return { value: format.of('number', null), unit: unitText(text.t, station, false) };
    const { summary, charts } = answer;
    const number = (value: number | null): string => format.of('number', value);
    const moment = this.#hero?.data.view.value ?? null;
    const unit = unitText(text.t, station, moment !== null);
    switch (station) {
      case 'traffic': {
        const now = cursor.value?.time ?? null;
        return { value: number(now === null ? this.#offered(summary) : momentOrMean(charts.get('rates'), 'arrivals', now)), unit };
      }
      case 'gateway': return this.#atGateway(summary, moment);
      case 'waiting': return { value: moment === null ? number(hundredths(momentOrMean(charts.get('running_waiting'), 'waiting', null))) : format.whole(this.#count('queue')), unit };
      case 'batch': return { value: moment === null ? number(hundredths(summary.batch.mean_size)) : format.whole(this.#count('pool')), unit };
      // Of the whole run, whatever the moment is.
      case 'gpu': return { value: loadText(text, loadOf(this.app).answer.value), unit };
    }
  }

  #count(kind: PlaceKind): number {
    return this.#hero?.data.countAt(kind) ?? 0;
  }

  /** A proxy's queue, and what was rejected until then; without a proxy what the server rejected. */
  #atGateway({ gateway, requests }: Summary, moment: Moment | null): Reading {
    const { t, format } = this.app.text;
    const rejected = (count: number): Reading => ({ value: format.whole(count), unit: t(gateway === null && count > 0 ? 'station.gateway.unit_engine' : 'station.gateway.unit') });
    if (gateway === null || moment === null) return rejected(moment?.rejected ?? requests.rejected_total);
    const queued = { value: format.whole(this.#count('gateway')), unit: t('station.waiting.unit_now') };
    return requests.rejected_total === 0 ? queued : { ...queued, more: `${format.whole(moment.rejected)} ${t('station.gateway.unit')}` };
  }

  /** As it was asked for where that is what arrives, or as the file has it at the speed it is played. */
  #offered({ requests }: Summary): number | null {
    const { belonging, store } = this.app;
    const { values } = belonging.stale.value === null || belonging.shown === null ? store.resolved : resolve(belonging.shown.values);
    const trace = (belonging.stale.value === null ? null : belonging.shown)?.traffic.info ?? this.app.traceFile.info.value;
    const [rate, stretch] = [values['workload.rate_rps'], values['workload.trace.time_scale']];
    if (trace === null) return arriving(rate, requests.offered, Math.max(Number(values['workload.duration_s']), this.app.session.value.answer?.trafficEnd ?? 0));
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
      // The uppermost of those that are there: a group whose settings do not apply is not.
      if (belonging !== null) reveal(belonging.groups.map((name) => `#group-${name}`).join());
      if (chart !== undefined) reveal(`[data-chart="${chart}"]`);
    });
  }
}

/** The rate that was set; the one that arrives where they differ by more than chance, as where a request brings its session's next ones. */
function arriving(rate: unknown, requests: number, duration_s: number): number | null {
  if (typeof rate !== 'number') return null;
  const found = duration_s > 0 ? requests / duration_s : rate;
  return rate > 0 && Math.abs(found / rate - 1) <= OF_CHANCE ? rate : hundredths(found);
}

/** Hundredths are enough of a mean of requests, and fit on a phone. */
function hundredths(value: number | null): number | null {
  return value === null ? null : Math.round(100 * value) / 100;
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
