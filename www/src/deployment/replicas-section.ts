// What the replicas do.
import { html, type TemplateResult } from 'lit';
import type { App } from '../app.js';
import { serviceFeed, type ChartFeed } from '../draw/chart-feed.js';
import { LightElement } from '../element.js';
import type { FleetSummary } from '../simulation/types.js';
import { OpenQuestion } from '../state/open-question.js';
import { partsOf, type Watchable } from '../state/topic.js';
import './replica-table.js';
import { replicas } from '../i18n/en/replicas.js';

/** On one clock; the last, which is never empty, has its axis. */
const CHARTS = ['lanes', 'operators', 'batch', 'preemptions', 'utilisation'] as const;
/** More lanes need the height of a chart of its own. */
const MOST_STACKED_LANES = 8;
/** Lanes that the module draws at most. */
const MOST_LANES = 32;

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
    return Number(this.app.store.resolved.values['fleet.replicas']);
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
    const feed = (this.#feed ??= feedOf(app));
    const fleet = (this.#fleet ??= new OpenQuestion(app, () => app.ask({ kind: 'call', call: 'fleet', values: [] }) as Promise<FleetSummary>));
    return html`
      <details class="section charts replicas" ?open=${this.#areSeveral} @toggle=${(event: Event) => { this.#toggled(event); }}>
        <summary><h2 id="section-replicas">${say('section.replicas')} <small>${say('section.replicas.about')}</small></h2></summary>
        <div class="chart-grid">${CHARTS.map((name, place) => html`<chart-view .app=${app} .name=${name} .feed=${feed} .stacked=${name === 'lanes' ? this.#replicas <= MOST_STACKED_LANES : place < CHARTS.length - 1} .folded=${!(this.open ?? this.#areSeveral)}></chart-view>`)}</div>
        <details class="fold" @toggle=${(event: Event) => { fleet.look((event.target as HTMLDetailsElement).open); }}>
          <summary><h3>${say('section.table')}</h3></summary>
          <replica-table .app=${app} .data=${fleet}></replica-table>
        </details>
      </details>`;
  }
}

function feedOf(app: App): ChartFeed {
  const service = serviceFeed(app);
  const say = (key: string): string => (app.text.find(replicas, key) ?? app.text.named('', key));
  return {
    ...service,
    // Former lanes would only hide those of now.
    ghost: (name) => (name === 'lanes' ? null : service.ghost(name)),
    title: (name) => {
      const all = Number(app.store.resolved.values['fleet.replicas']);
      return name === 'lanes' && all > MOST_LANES ? app.text.say(replicas)('chart.lanes.some', { shown: MOST_LANES, all }) : say(`chart.${name}`);
    },
    about: (name) => say(`chart.${name}.about`),
    // A chart may have its own word for what has one colour everywhere.
    role: (chart, role) => {
      const own = `role.${chart}.${role}`;
      return app.text.find(replicas, own) ?? say(`role.${role}`);
    },
    empty: say,
  };
}

customElements.define('replicas-section', ReplicasSection);
