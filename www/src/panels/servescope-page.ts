// The whole page: header, controls, results.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app.js';
import { LightElement } from '../element.js';
import type { GatewayViews } from '../gateway/gateway-section.js';
import type { DebuggerSection } from '../debugger/debugger-section.js';
import type { WhySection } from '../why/why-section.js';
import type { MessageKey } from '../i18n/text.js';
import { presetOf } from '../state/presets.js';
import type { Tab } from '../state/session.js';
import { partsOf, type Watchable } from '../state/topic.js';
import { closeMenusOutside } from '../menu.js';
import { acceptDrops } from './open-file.js';
import { Parts } from './parts.js';
import { preparePrints } from './print.js';
import { listenToShortcuts } from './shortcuts.js';
import '../controls/control-panel.js';
import '../draw/chart-view.js';
import '../deployment/replicas-section.js';
import './drain-note.js';
import './headline-numbers.js';
import './page-header.js';
import './request-card.js';
import './stale-bar.js';
import './station-line.js';
import './status-area.js';
import './welcome-doors.js';
import './who-table.js';
import { part } from '../part.js';

type Later = Exclude<Tab, 'explore'> | 'source' | 'gateway' | 'monitor' | 'compare' | 'sweep' | 'why' | 'debugger' | 'own';

interface Section { id: string; title: MessageKey; about?: MessageKey; charts: readonly string[] }

/** Answers before inputs. */
const SECTIONS: readonly Section[] = [
  { id: 'happens', title: 'section.happens', about: 'section.happens.about', charts: ['rates', 'running_waiting', 'memory', 'tokens'] },
  { id: 'feel', title: 'section.feel', charts: ['latency_cdf', 'ttft_by_arrival', 'time_split'] },
];
/** Folded until it is opened: they show what the controls say. */
const INPUTS: Section = { id: 'arrives', title: 'section.arrives', about: 'section.arrives.about', charts: ['gaps', 'shares', 'lengths'] };

export class ServescopePage extends LightElement {
  readonly #parts = new Parts<Later>(() => { this.requestUpdate(); });
  #monitorWanted = false;
  #compareWanted = false;
  #sweepWanted = false;
  #whyOpen = false;
  #ownWanted = false;
  #inputsOpen = false;
  #tab: Tab | null = null;

  protected override watched(): Watchable[] {
    return [this.app.view, this.app.pins, this.app.sweep, partsOf(this.app.step, (step) => step !== null), partsOf(this.app.session, ({ answer }) => answer)];
  }

  protected override look(): string {
    return `${String(this.#hasOwn)} ${this.app.view.value.tab} ${String(this.app.view.value.lesson !== null)} ${String(this.app.view.value.source)} ${String(this.#hasReplicas)} ${String(this.#hasGateway)} ${String(this.#isStory)} ${String(this.app.pins.value.length > 0)} ${String(this.app.sweep.value !== null)} ${String(this.app.step.value !== null)}`;
  }

  get #hasReplicas(): boolean {
    return this.app.session.value.answer?.charts.has('lanes') === true;
  }

  /** Whether the settings ask for a request of the reader's own. */
  get #hasOwn(): boolean {
    return Number(this.app.store.values.value['workload.extra_request.input_tokens'] ?? 0) > 0;
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
    document.addEventListener('pointerdown', closeMenusOutside);
  }

  protected override render(): TemplateResult {
    const { app } = this;
    const { t } = app.text;
    const { tab, source, lesson } = app.view.value;
    if (tab !== 'explore') this.#want(tab);
    else if (source) this.#want('source');
    if (this.#hasGateway || this.#isStory) this.#want('gateway');
    if (this.#monitorWanted) this.#want('monitor');
    const isCompared = app.pins.value.length > 0;
    if (this.#compareWanted || isCompared) this.#want('compare');
    const isSwept = this.#sweepWanted || app.sweep.value !== null;
    if (isSwept) this.#want('sweep');
    const isOwn = this.#ownWanted || this.#hasOwn;
    if (isOwn) this.#want('own');
    if (this.#whyOpen) this.#want('why');
    (this.#parts.value('why') as WhySection | undefined)?.show(this.#whyOpen);
    const isStepping = app.step.value !== null;
    if (isStepping) this.#want('debugger');
    (this.#parts.value('debugger') as DebuggerSection | undefined)?.show(isStepping);
    const gateway = this.#parts.value('gateway') as GatewayViews | undefined;
    return html`
      <a class="skip" href="#results" @click=${skipToResults}>${t('page.skip')}</a>
      <header class="top"><page-header .app=${app}></page-header></header>
      <div class="columns ${tab === 'learn' ? 'learning' : ''} ${tab === 'validation' ? 'validating' : ''} ${tab === 'learn' && lesson !== null ? 'reading' : ''}">
        <aside aria-label=${t('page.controls')}><control-panel .app=${app}></control-panel></aside>
        <main id="results" tabindex="-1" aria-label=${t('page.results')}>
          <welcome-doors .app=${app} ?hidden=${tab !== 'explore'}></welcome-doors>
          <stale-bar .app=${app}></stale-bar>
          <station-line class="of-run" .app=${app} ?hidden=${tab !== 'explore'}></station-line>
          <status-area .app=${app}></status-area>
          ${(['learn', 'plan', 'validation'] as const).map((name) => html`
            <div class="tab ${name === 'plan' ? 'of-traffic' : ''}" data-view=${name} ?hidden=${tab !== name} @click=${(event: Event) => { if (name === 'validation' && isLinkOfPage(event)) app.followed(); }}>${this.#part(name)}</div>`)}
          <details class="fold traffic-source of-traffic" data-view="explore" ?hidden=${tab !== 'explore'} .open=${source} @toggle=${(event: Event) => { app.showSource((event.target as HTMLDetailsElement).open); }}>
            <summary><h2>${t('section.source')}</h2></summary>
            ${this.#part('source')}
          </details>
          <div class="tab of-run" data-view="explore" ?hidden=${tab !== 'explore'}>
            ${gateway?.story ?? nothing}
            <headline-numbers .app=${app}></headline-numbers>
            <details class="fold" data-fold="own" .open=${isOwn} @toggle=${(event: Event) => { this.#openOwn(event); }}>
              <summary><h2>${t('section.own_request')}</h2></summary>
              ${this.#part('own')}
            </details>
            <details class="fold compare" .open=${isCompared || this.#compareWanted} @toggle=${(event: Event) => { this.#openCompare(event); }}>
              <summary><h2>${t('section.compare')}</h2></summary>
              ${this.#part('compare')}
            </details>
            ${SECTIONS.map((section) => html`${this.#section(section)}${section.id === 'happens' && this.#hasReplicas ? html`<replicas-section .app=${app}></replicas-section>` : nothing}${section.id === 'happens' && this.#hasGateway ? (gateway?.section ?? this.#part('gateway')) : nothing}`)}
            <details class="section who-section" id="who" open>
              <summary><h2 id="who-title">${t('section.who')}</h2></summary>
              <who-table .app=${app}></who-table>
              <details class="fold monitor" @toggle=${(event: Event) => { this.#open(event); }}>
                <summary><h3>${t('section.monitor')}</h3></summary>
                ${this.#part('monitor')}
              </details>
            </details>
            ${this.#section(INPUTS)}
          </div>
          <details class="fold sweep" data-view="explore" ?hidden=${tab !== 'explore'} .open=${isSwept} @toggle=${(event: Event) => { this.#openSweep(event); }}>
            <summary><h2>${t('section.sweep')}</h2></summary>
            ${this.#part('sweep')}
          </details>
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

  #open({ target }: Event): void {
    if (!(target as HTMLDetailsElement).open || this.#monitorWanted) return;
    this.#monitorWanted = true;
    this.requestUpdate();
  }

  #toggledSection(id: string, { target }: Event): void {
    this.app.scheduler.invalidateAll();
    if (id !== INPUTS.id) return;
    this.#inputsOpen = (target as HTMLDetailsElement).open;
    this.requestUpdate();
  }

  #openOwn({ target }: Event): void {
    if (!(target as HTMLDetailsElement).open || this.#ownWanted) return;
    this.#ownWanted = true;
    this.requestUpdate();
  }

  #openCompare({ target }: Event): void {
    if (!(target as HTMLDetailsElement).open || this.#compareWanted) return;
    this.#compareWanted = true;
    this.requestUpdate();
  }

  #openSweep({ target }: Event): void {
    this.app.scheduler.invalidateAll();
    if (!(target as HTMLDetailsElement).open || this.#sweepWanted) return;
    this.#sweepWanted = true;
    this.requestUpdate();
  }

  /** Where the time of all requests went: simulated again with decisions while it is open. */
  #why(): TemplateResult {
    return html`<details class="fold why-fold" data-fold="why" @toggle=${(event: Event) => { this.#openWhy((event.target as HTMLDetailsElement).open); }}>
      <summary><h3>${this.app.text.t('section.why')}</h3></summary>
      ${this.#part('why')}
    </details>`;
  }

  /** Decisions one by one: a thread keeps the run while it is open. */
  #debugger(): TemplateResult {
    return html`<details class="fold" data-fold="debugger" .open=${this.app.step.value !== null} @toggle=${(event: Event) => { this.#openDebugger((event.target as HTMLDetailsElement).open); }}>
      <summary><h3>${this.app.text.t('section.debugger')}</h3></summary>
      ${this.#part('debugger')}
    </details>`;
  }

  #openDebugger(open: boolean): void {
    const { step } = this.app;
    if (open !== (step.value !== null)) step.set(open ? 0 : null);
  }

  #openWhy(open: boolean): void {
    this.#whyOpen = open;
    this.requestUpdate();
  }

  #want(name: Later): void {
    this.#parts.want(name, () => fetched(this.app, name));
  }

  /** What was fetched, or how far that is. */
  #part(name: Later): unknown {
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

  #section({ id, title, about, charts }: Section): TemplateResult {
    const { app } = this;
    const folded = id === INPUTS.id && !this.#inputsOpen;
    return html`
      <details class="section charts ${id}" ?open=${id !== INPUTS.id} @toggle=${(event: Event) => { this.#toggledSection(id, event); }}>
        <summary><h2 id="section-${id}">${app.text.t(title)}${about === undefined ? '' : html` <small>${app.text.t(about)}</small>`}</h2></summary>
        ${id === 'happens' ? html`<drain-note .app=${app}></drain-note>` : nothing}
        <div class="chart-grid">${charts.map((name, place) => html`<chart-view .app=${app} .name=${name} .stacked=${id === 'happens' && place < charts.length - 1} .folded=${folded}></chart-view>`)}</div>
        ${id === 'happens' ? this.#debugger() : nothing}
        ${id === 'feel' ? html`<request-card .app=${app}></request-card>${this.#why()}` : ''}
      </details>`;
  }
}

function fetched(app: App, what: Later): Promise<unknown> {
  switch (what) {
    case 'gateway': return part(() => import('../gateway/gateway-section.js')).then(({ gatewayViews }): GatewayViews => gatewayViews(app));
    case 'learn': return part(() => import('../lessons/learn-page.js')).then(({ learnPage }) => learnPage(app));
    case 'source': return part(() => import('../workload/studio-page.js')).then(({ studioPage }) => studioPage(app));
    case 'plan': return part(() => import('../capacity/capacity-page.js')).then(({ capacityPage }) => capacityPage(app));
    case 'validation': return part(() => import('../validation/published-page.js')).then(({ publishedPage }) => publishedPage(app));
    case 'compare': return part(() => import('../compare/compare-section.js')).then(({ compareSection }) => compareSection(app));
    case 'sweep': return part(() => import('../sweep/sweep-section.js')).then(({ sweepSection }) => sweepSection(app));
    case 'why': return part(() => import('../why/why-section.js')).then(({ whySection }) => whySection(app));
    case 'own': return part(() => import('../own-request/own-request.js')).then(({ ownRequest }) => ownRequest(app));
    case 'debugger': return part(() => import('../debugger/debugger-section.js')).then(({ debuggerSection }) => debuggerSection(app));
    case 'monitor': return part(() => import('../monitor/monitor-section.js')).then(({ monitorSection }) => monitorSection(app));
  }
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
