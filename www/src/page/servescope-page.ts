// The whole page: header, controls, results.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { LightElement } from '../app/element.js';
import type { GatewayViews } from '../gateway/gateway-section.js';
import type { MessageKey } from '../i18n/text.js';
import { presetOf } from '../state/presets.js';
import type { Tab } from '../state/session.js';
import { partsOf, type Watchable } from '../lib/topic.js';
import { acceptDrops } from '../files/file-door.js';
import { Parts } from '../ui/parts.js';
import { preparePrints } from './print.js';
import { LATE_SECTIONS, LATE_TABS, type Fetched, type LateSection, type LateTab, type Place } from './sections.js';
import { listenToShortcuts } from './shortcuts.js';
import './control-panel.js';
import '../draw/chart-view.js';
import '../replicas/replicas-section.js';
import '../explore/drain-note.js';
import '../headline/headline-numbers.js';
import './page-header.js';
import '../explore/request-card.js';
import '../explore/stale-bar.js';
import '../explore/station-line.js';
import '../explore/status-area.js';
import '../explore/welcome-doors.js';
import '../explore/who-table.js';
import { part } from '../lib/part.js';

interface ChartSection { id: string; title: MessageKey; about?: MessageKey; charts: readonly string[] }

/** Answers before inputs. */
const HAPPENS: ChartSection = { id: 'happens', title: 'section.happens', about: 'section.happens.about', charts: ['rates', 'running_waiting', 'seats', 'memory', 'tokens'] };
const FEEL: ChartSection = { id: 'feel', title: 'section.feel', charts: ['latency_cdf', 'ttft_by_arrival', 'time_split'] };
/** Folded until it is opened: they show what the controls say. */
const INPUTS: ChartSection = { id: 'arrives', title: 'section.arrives', about: 'section.arrives.about', charts: ['gaps', 'shares', 'lengths'] };
/** What the columns are called by tab, for styles. */
const COLUMNS: Readonly<Record<Tab, string>> = { learn: 'learning reading', explore: '', plan: 'planning', validation: 'validating' };
/** Places in one of the sections that are always there. */
const INNER: readonly Place[] = ['happens', 'feel', 'who'];
/** Places outside the results of the run. */
const OUTER: readonly Place[] = ['above', 'end'];

export class ServescopePage extends LightElement {
  readonly #parts = new Parts<string, Fetched | GatewayViews>(() => { this.requestUpdate(); });
  /** Sections that the reader has opened. */
  readonly #opened = new Set<string>();
  #inputsOpen = false;
  #tab: Tab | null = null;

  protected override watched(): Watchable[] {
    return [this.app.view, partsOf(this.app.session, ({ answer }) => answer), ...LATE_SECTIONS.flatMap(({ watched }) => watched?.(this.app) ?? [])];
  }

  protected override look(): string {
    const { tab } = this.app.view.value;
    return [tab, this.#hasReplicas, this.#someCharts.join('+'), this.#hasGateway, this.#isStory, ...LATE_SECTIONS.map((section) => section.isOpen?.(this.app))].join();
  }

  get #hasReplicas(): boolean {
    return this.app.session.value.answer?.charts.has('lanes') === true;
  }

  /** The charts of what caches found, of KV links and of drafts, those that this run has. */
  get #someCharts(): readonly string[] {
    const charts = this.app.session.value.answer?.charts;
    return ['hits_over_time', 'hits_by_capacity', 'kv_links', 'accepted_drafts'].filter((name) => charts?.has(name) === true);
  }

  get #hasGateway(): boolean {
    return this.app.session.value.answer?.charts.has('gateway_kv') === true;
  }

  /** A story may need no gateway: its text and its two runs come with the gateway's views. */
  get #isStory(): boolean {
    return presetOf(this.app.presets, this.app.store.values.value)?.story !== undefined;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    acceptDrops(this.app, (hanging) => { this.classList.toggle('file-over', hanging); });
    listenToShortcuts(this.app);
    preparePrints(this.app);
  }

  protected override render(): TemplateResult {
    const { app } = this;
    const { t } = app.text;
    const { tab } = app.view.value;
    if (this.#hasGateway || this.#isStory) this.#parts.want('gateway', () => gatewayOf(app));
    const gateway = this.#parts.value('gateway') as GatewayViews | undefined;
    return html`
      <a class="skip" href="#results" @click=${skipToResults}>${t('page.skip')}</a>
      <header class="top"><page-header .app=${app}></page-header></header>
      <div class="columns ${COLUMNS[tab]}">
        <aside aria-label=${t('page.controls')}><control-panel .app=${app}></control-panel></aside>
        <main id="results" tabindex="-1" aria-label=${t('page.results')}>
          <welcome-doors .app=${app} ?hidden=${tab !== 'explore'}></welcome-doors>
          <stale-bar .app=${app}></stale-bar>
          <station-line class="of-run" .app=${app} ?hidden=${tab !== 'explore'}></station-line>
          <status-area .app=${app}></status-area>
          ${LATE_TABS.map((late) => this.#lateTab(late))}
          ${this.#lateSections('above')}
          <div class="tab of-run" data-view="explore" ?hidden=${tab !== 'explore'}>
            ${gateway?.story ?? nothing}
            <headline-numbers .app=${app}></headline-numbers>
            ${this.#lateSections('headline')}
            ${this.#charts(HAPPENS, html`<drain-note .app=${app}></drain-note>`, [this.#someCharts.length === 0 ? nothing : html`<div class="chart-grid">${this.#someCharts.map((name) => html`<chart-view .app=${app} .name=${name}></chart-view>`)}</div>`, this.#lateSections('happens')])}
            ${this.#hasReplicas ? html`<replicas-section .app=${app}></replicas-section>` : nothing}
            ${this.#hasGateway ? (gateway?.section ?? this.#part('gateway')) : nothing}
            ${this.#charts(FEEL, nothing, html`<request-card .app=${app}></request-card>${this.#lateSections('feel')}`)}
            <details class="section who-section" id="who" open>
              <summary><h2 id="who-title">${t('section.who')}</h2></summary>
              <who-table .app=${app}></who-table>
              ${this.#lateSections('who')}
            </details>
            ${this.#charts(INPUTS)}
          </div>
          ${this.#lateSections('end')}
        </main>
      </div>
      <p class="drop-hint" aria-hidden="true">${t('trace.drop')}</p>`;
  }

  /** Another tab begins at its top, wherever the one before was scrolled to. */
  protected override updated(): void {
    const { tab } = this.app.view.value;
    if (this.#tab !== null && this.#tab !== tab) scrollTo({ top: 0, behavior: 'instant' });
    this.#tab = tab;
  }

  #lateTab({ id, fold = '', leads = false, load }: LateTab): TemplateResult {
    const { app } = this;
    const { tab } = app.view.value;
    if (tab === id) this.#parts.want(id, () => load(app));
    return html`<div class="tab ${fold}" data-view=${id} ?hidden=${tab !== id} @click=${(event: Event) => { if (leads && isLinkOfPage(event)) app.followed(); }}>${this.#part(id)}</div>`;
  }

  #lateSections(place: Place): TemplateResult[] {
    return LATE_SECTIONS.filter(({ at }) => at === place).map((section) => this.#lateSection(section));
  }

  #lateSection(section: LateSection): TemplateResult {
    const { app } = this;
    const { id, at, fold = '', load } = section;
    const isExplore = app.view.value.tab === 'explore';
    const isOpen = section.isOpen?.(app) === true || this.#opened.has(id);
    if (isOpen && isExplore) this.#parts.want(id, () => load(app));
    (this.#parts.value(id) as Fetched | undefined)?.show?.(isOpen);
    const title = app.text.t(section.title);
    return html`<details class="fold ${fold}" data-fold=${id} data-view=${OUTER.includes(at) ? 'explore' : nothing} ?hidden=${OUTER.includes(at) && !isExplore}
      .open=${isOpen} @toggle=${(event: Event) => { this.#toggledSection(section, event); }}>
      <summary>${INNER.includes(at) ? html`<h3>${title}</h3>` : html`<h2>${title}</h2>`}</summary>
      ${this.#part(id)}
    </details>`;
  }

  #toggledSection({ id, toggled }: LateSection, { target }: Event): void {
    const { open } = target as HTMLDetailsElement;
    this.app.scheduler.invalidateAll();
    if (toggled !== undefined) toggled(this.app, open);
    else if (open) this.#opened.add(id);
    else this.#opened.delete(id);
    this.requestUpdate();
  }

  /** What was fetched, or how far that is. */
  #part(name: string): unknown {
    const { t } = this.app.text;
    switch (this.#parts.state(name)) {
      case null: return nothing;
      case 'there': return this.#parts.value(name);
      // Charts that a run adds come without a word.
      case 'fetching': return name === 'gateway' ? nothing : t('tab.loading');
      case 'missing': return html`<p class="notice error" role="alert" data-missing=${name}>${t('tab.missing')}
        <button type="button" @click=${() => { this.#parts.again(name); }}>${t('tab.again')}</button></p>`;
    }
  }

  /** Charts that are always there, what stands above them and what below. */
  #charts({ id, title, about, charts }: ChartSection, above: unknown = nothing, below: unknown = nothing): TemplateResult {
    const { app } = this;
    const isStacked = id === HAPPENS.id;
    const folded = id === INPUTS.id && !this.#inputsOpen;
    return html`
      <details class="section charts ${id}" ?open=${id !== INPUTS.id} @toggle=${(event: Event) => { this.#toggledCharts(id, event); }}>
        <summary><h2 id="section-${id}">${app.text.t(title)}${about === undefined ? '' : html` <small>${app.text.t(about)}</small>`}</h2></summary>
        ${above}
        <div class="chart-grid">${charts.map((name, place) => html`<chart-view .app=${app} .name=${name} .stacked=${isStacked && place < charts.length - 1} .folded=${folded}></chart-view>`)}</div>
        ${below}
      </details>`;
  }

  #toggledCharts(id: string, { target }: Event): void {
    this.app.scheduler.invalidateAll();
    if (id !== INPUTS.id) return;
    this.#inputsOpen = (target as HTMLDetailsElement).open;
    this.requestUpdate();
  }
}

function gatewayOf(app: App): Promise<GatewayViews> {
  return part(() => import('../gateway/gateway-section.js')).then(({ gatewayViews }) => gatewayViews(app));
}

/** Whether a click follows a link to other settings of this page. */
function isLinkOfPage({ target }: Event): boolean {
  return target instanceof Element && target.closest('a[href^="#"]') !== null;
}

/** The address holds the scenario, so the link must not change it. */
function skipToResults(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>('#results')?.focus();
}

customElements.define('servescope-page', ServescopePage);
