// What the replicas do.
import { html, type TemplateResult } from 'lit';
import type { ChartFeed } from '../draw/chart-feed.js';
import { LightElement } from '../app/element.js';
import type { FleetSummary } from '../simulation/types.js';
import { OpenQuestion } from '../state/open-question.js';
import { partsOf, type Watchable } from '../lib/topic.js';
import './replica-table.js';
import { REPLICA_CHARTS, replicaCount, replicasFeed } from './replicas-feed.js';
import { replicas } from '../i18n/en/replicas.js';

/** More lanes need the height of a chart of its own. */
const MOST_STACKED_LANES = 8;

class ReplicasSection extends LightElement {
  static override properties = { ...LightElement.properties, open: { state: true } };
  /** As it was last seen to be opened or closed. */
  declare open: boolean | undefined;
  #feed: ChartFeed | undefined;
  #fleet: OpenQuestion<FleetSummary> | undefined;

  protected override watched(): Watchable[] {
    return [partsOf(this.app.session, ({ answer }) => answer)];
  }

  /** Of one replica the charts above say what matters most: these are one line until they are opened. */
  get #areSeveral(): boolean {
    return this.#replicas > 1;
  }

  get #replicas(): number {
    return replicaCount(this.app);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#fleet?.end();
  }

  protected override look(): string {
    return `${String(this.#areSeveral)} ${String(this.#replicas <= MOST_STACKED_LANES)}`;
  }

  #toggled({ target }: Event): void {
    this.app.scheduler.invalidateAll();
    this.open = (target as HTMLDetailsElement).open;
  }

  protected override render(): TemplateResult {
    const { app } = this;
    const say = app.text.say(replicas);
    const feed = (this.#feed ??= replicasFeed(app));
    const fleet = (this.#fleet ??= new OpenQuestion(app, () => app.ask({ kind: 'call', call: 'fleet', values: [] }) as Promise<FleetSummary>));
    return html`
      <details class="section charts replicas" ?open=${this.#areSeveral} @toggle=${(event: Event) => { this.#toggled(event); }}>
        <summary><h2 id="section-replicas">${say('section.replicas')} <small>${say('section.replicas.about')}</small></h2></summary>
        <div class="chart-grid">${REPLICA_CHARTS.map((name, place) => html`<chart-view .app=${app} .name=${name} .feed=${feed} .stacked=${name === 'lanes' ? this.#replicas <= MOST_STACKED_LANES : place < REPLICA_CHARTS.length - 1} .folded=${!(this.open ?? this.#areSeveral)}></chart-view>`)}</div>
        <details class="fold" @toggle=${(event: Event) => { fleet.look((event.target as HTMLDetailsElement).open); }}>
          <summary><h3>${say('section.table')}</h3></summary>
          <replica-table .app=${app} .data=${fleet}></replica-table>
        </details>
      </details>`;
  }
}

customElements.define('replicas-section', ReplicasSection);
