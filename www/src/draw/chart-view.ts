// One chart: a figure with its title, legend and tools around a canvas. The words are drawn by lit, the canvas by the
// frame scheduler, what lies under the cursor by hand, since it moves with every pixel.
import { html, nothing, type TemplateResult } from 'lit';
import type { Cursor } from '../app/app.js';
import { LightElement } from '../app/element.js';
import { ChartSurface } from '../simulation/module.js';
import type { ChartData, PlotFrame } from '../simulation/types.js';
import { stationOfChart } from '../state/stations.js';
import { SPLITS, splitOf } from '../state/session.js';
import { partsOf, type Topic, type Watchable } from '../lib/topic.js';
import { serviceFeed, type ChartFeed } from './chart-feed.js';
import { chartTools } from './chart-tools.js';
import { drawnChart } from './drawn-chart.js';
import { legend } from './legend.js';
import { Overlay } from './overlay.js';
import { PlotInput } from './plot-input.js';
import { xName, yName } from './read-out.js';
import type { Drawable, Size } from '../app/scheduler.js';
import type { ShownChart } from './shown-chart.js';
import { tableView } from './table-view.js';

/** What the axis below takes of a canvas: of a stacked chart it is cut away. */
const AXIS_PX = 24;
/** What a chart needs to be drawn. */
const LEAST_PX = 48;
export const REQUEST_CHART = 'ttft_by_arrival';

export class ChartView extends LightElement implements Drawable, ShownChart {
  static override properties = {
    ...LightElement.properties, name: { attribute: false }, feed: { attribute: false }, stacked: { attribute: false }, beside: { attribute: false }, folded: { attribute: false }, tableOpen: { state: true }, aboutOpen: { state: true },
  };
  declare name: string;
  /** The service's charts where none is given. */
  declare feed: ChartFeed | undefined;
  /** Whether another chart with the same clock stands right below, which has the axis for both. */
  declare stacked: boolean | undefined;
  /** Distinguishes its ids from those of the same chart in another place. */
  declare beside: string | undefined;
  /** Whether its section is folded. */
  declare folded: boolean | undefined;
  declare tableOpen: boolean;
  declare aboutOpen: boolean;
  frame: PlotFrame | null = null;
  near: ShownChart['near'] = null;
  #surface: ChartSurface | null = null;
  #overlay: Overlay | null = null;
  #forget: (() => void)[] = [];

  protected override watched(): Watchable[] {
    return [this.app.view, partsOf(this.app.belonging.stale, (stale) => stale === null), this.source.topic(this.name)];
  }

  protected override get isFolded(): boolean {
    return this.folded === true;
  }

  get idOf(): string {
    return this.beside === undefined ? `chart-${this.name}` : `chart-${this.beside}-${this.name}`;
  }

  get source(): ChartFeed {
    return (this.feed ??= serviceFeed(this.app));
  }

  get clock(): Topic<Cursor | null> {
    return this.source.clock ?? this.app.cursor;
  }

  get chart(): ChartData | undefined {
    return this.source.chart(this.name);
  }

  get ghost(): ChartData | null {
    return this.source.ghost(this.name);
  }

  /** The range of its curves over further seeds, where it is on the axes of the chart. */
  get band(): ChartData | undefined {
    const { chart } = this;
    const band = this.app.belonging.stale.value === null ? this.source.band?.(this.name) : undefined;
    return band !== undefined && band.x.min === chart?.x.min && band.x.max === chart.x.max ? band : undefined;
  }

  /** As it is drawn: with its band behind it, on axes that hold what it is compared with. */
  get drawn(): ChartData | undefined {
    const { band, chart, ghost } = this;
    return chart === undefined ? undefined : drawnChart(chart, band, ghost);
  }

  get place(): HTMLElement {
    const plot = this.querySelector<HTMLElement>('.plot');
    if (plot === null) throw new Error('asked before the first rendering');
    return plot;
  }

  get canvas(): HTMLCanvasElement {
    const canvas = this.querySelector('canvas');
    if (canvas === null) throw new Error('asked before the first rendering');
    return canvas;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.dataset['chart'] = this.name;
    this.#forget = [
      this.source.topic(this.name).subscribe(() => { if (this.tableOpen) this.requestUpdate(); }),
      this.clock.subscribe(() => { this.#overlay?.update(); }),
      this.app.settings.subscribe(() => { if (this.hasUpdated) this.app.scheduler.invalidate(this); }),
    ];
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    if (this.hasUpdated) this.app.scheduler.remove(this);
    for (const forget of this.#forget) forget();
    this.#surface?.free();
    this.#surface = null;
  }

  protected override firstUpdated(): void {
    this.#surface = new ChartSurface(this.canvas);
    this.#overlay = new Overlay(this);
    new PlotInput(this, this.#overlay);
    this.app.scheduler.add(this);
  }

  protected override updated(): void {
    this.#overlay?.update();
  }

  draw({ width, height }: Size): void {
    const { canvas, drawn: chart } = this;
    if (chart === undefined || this.#surface === null || width === 0) return;
    if (canvas.hidden !== (chart.empty !== '')) canvas.hidden = chart.empty !== '';
    if (chart.empty !== '') {
      this.frame = null;
      this.#overlay?.update();
      return;
    }
    // Of a chart that was empty, the place is still one line high: its new size is reported, and it is drawn then.
    if (height < LEAST_PX) return;
    const { dark } = this.app.settings.value;
    this.frame = this.#surface.draw(chart, this.ghost, dark, width, height + (this.stacked === true ? AXIS_PX : 0), devicePixelRatio, this.app.text.language === 'zh');
    this.#overlay?.update();
  }

  resetZoom(): void {
    if (this.source.zooms && this.app.view.value.window !== null) void this.app.look({ window: null });
  }

  protected override render(): TemplateResult {
    const { app, chart, name, source } = this;
    const { text } = app;
    const station = app.view.value.station;
    this.classList.toggle('stacked', this.stacked === true);
    this.classList.toggle('nothing', chart !== undefined && chart.empty !== '');
    this.classList.toggle('marked', station !== null && stationOfChart(station, name));
    const title = source.title(name);
    const zoomed = source.zooms && chart?.x.kind === 'time' && app.view.value.window !== null;
    const empty = chart === undefined || chart.empty === '' ? null : (source.empty?.(chart.empty) ?? text.named('', chart.empty));
    return html`
      <figure>
        <figcaption>
          <div class="caption-line">
            <h3 id=${this.idOf}>${title}</h3>
            <small class="axis-unit">${chart === undefined || chart.empty !== '' ? nothing : (source.yName?.(name) ?? yName(text, chart))}</small>
            <button type="button" class="quiet reset-zoom" ?hidden=${!zoomed} @click=${() => { this.resetZoom(); }}>${text.t('chart.reset_zoom')}</button>
            ${name === 'time_split' ? this.#splitChoice() : nothing}
            ${chartTools(this, title)}
          </div>
          ${chart === undefined ? nothing : legend(chart.series, (role) => source.role(name, role), this.ghost === null ? null : (source.former?.() ?? text.t('role.former')), this.band === undefined ? null : text.t('role.band'))}
          <p class="about" id="${this.idOf}-about" ?hidden=${this.aboutOpen !== true}>${source.about(name)}</p>
        </figcaption>
        <div class="plot ${chart?.x.kind ?? ''}" tabindex="0" role=${empty === null ? 'slider' : 'group'} aria-valuenow=${empty === null ? 0 : nothing} aria-valuetext=${empty === null ? text.t('chart.no_cursor') : nothing} aria-labelledby=${this.idOf} aria-describedby="${this.idOf}-keys">
          <canvas aria-hidden="true"></canvas>
          <div class="cursor-line" hidden></div>
          <div class="brush" hidden></div>
          <div class="picked" hidden></div>
          <div class="traffic-end" data-words=${text.t('chart.traffic_end')} hidden></div>
          <div class="marked-moment" hidden></div>
          <div class="read-out" aria-hidden="true" hidden></div>
          <p class="empty" data-empty=${chart?.empty ?? ''} ?hidden=${empty === null}>${empty}</p>
          ${chart === undefined || chart.empty !== '' || this.stacked === true ? nothing : html`<small class="x-axis">${source.xName?.(name) ?? xName(text, chart)}</small>`}
        </div>
        <p class="visually-hidden" id="${this.idOf}-keys">${text.t(name === REQUEST_CHART ? 'chart.keys_request' : 'chart.keys')}</p>
        ${this.tableOpen === true && chart !== undefined ? tableView(text, chart, (role) => source.role(name, role)) : nothing}
      </figure>`;
  }

  #splitChoice(): TemplateResult {
    const { text, view } = this.app;
    // Without adapters the groups are of another kind than the one that was chosen.
    const drawn = splitOf(this.chart?.x.unit ?? view.value.splitBy);
    const choose = (event: Event): void => { void this.app.look({ splitBy: splitOf((event.target as HTMLSelectElement).value) }); };
    return html`<select class="split-choice" aria-label=${text.t('chart.split_by')} @change=${choose}>
      ${SPLITS.map((split) => html`<option value=${split} .selected=${split === drawn} ?disabled=${split === 'adapter' && drawn !== 'adapter' && view.value.splitBy === 'adapter'}>${text.t(`chart.by_${split}`)}</option>`)}</select>`;
  }

  /** The words change only when the series do; a drag changes the drawing alone. */
  protected override look(): string {
    const { chart } = this;
    const { window, splitBy, selected, station } = this.app.view.value;
    const roles = chart?.series.map((series) => `${this.source.role(this.name, series.role)}/${series.mark}`).join();
    return [this.source.title(this.name), roles, chart?.empty, chart?.x.unit, chart?.y.unit, this.ghost !== null, this.band !== undefined, window, splitBy, selected?.id, station].join('|');
  }
}

customElements.define('chart-view', ChartView);
