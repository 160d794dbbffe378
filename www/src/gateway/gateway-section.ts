// What the proxy did: the ribbon of its load states, its numbers and its charts. It is fetched with the first answer of a
// run behind a proxy, and brings the stories along.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import type { ChartFeed } from '../draw/chart-feed.js';
import { LightElement } from '../app/element.js';
import type { Distribution, Summary } from '../simulation/types.js';
import { partsOf, type Watchable } from '../lib/topic.js';
import { gatewayFeed } from './gateway-feed.js';
import { GatewayStory } from './gateway-story.js';
import type { PlainKey } from '../i18n/area.js';
import { gateway } from '../i18n/en/gateway.js';
import './gateway.css';
import './load-ribbon.js';

const CHARTS = ['gateway_waiting', 'gateway_kv', 'gateway_refusals', 'gateway_estimate', 'gateway_pressure'] as const;

export interface GatewayViews { story: GatewayStory; section: GatewaySection }

export function gatewayViews(app: App): GatewayViews {
  return { story: GatewayStory.of(app), section: GatewaySection.of(app) };
}

export class GatewaySection extends LightElement {
  #feed: ChartFeed | undefined;

  protected override watched(): Watchable[] {
    return [partsOf(this.app.session, ({ answer }) => answer?.summary)];
  }

  protected override look(): string {
    return JSON.stringify(this.#gateway);
  }

  get #gateway(): Summary['gateway'] {
    return this.app.session.value.answer?.summary.gateway ?? null;
  }

  protected override render(): TemplateResult | typeof nothing {
    const { app } = this;
    const summary = this.#gateway;
    const say = app.text.say(gateway);
    const feed = (this.#feed ??= gatewayFeed(app));
    return html`
      <details class="section charts gateway" open @toggle=${() => { app.scheduler.invalidateAll(); }}>
        <summary><h2 id="section-gateway">${say('section.gateway')} <small>${say('section.gateway.about')}</small></h2></summary>
        <load-ribbon .app=${app}></load-ribbon>
        ${summary === undefined || summary === null ? nothing : this.#facts(summary)}
        <div class="chart-grid">${CHARTS.map((name, place) => html`<chart-view .app=${app} .name=${name} .feed=${feed} .stacked=${place < CHARTS.length - 1}></chart-view>`)}</div>
      </details>`;
  }

  #facts(summary: NonNullable<Summary['gateway']>): TemplateResult {
    const { text } = this.app;
    const { format } = text;
    const say = this.app.text.say(gateway);
    const refusals = Object.entries(summary.refusals).filter(([, count]) => count > 0);
    const refused = refusals.reduce((sum, [, count]) => sum + count, 0);
    const spread = (of: Distribution, kind: 'seconds' | 'number'): string => say('fact.spread', { p50: format.of(kind, of.p50), p99: format.of(kind, of.p99) });
    const { first_attempt: first, prediction } = summary;
    const facts: [PlainKey<typeof gateway> & `fact.${string}`, string][] = [
      ['fact.attempts', format.whole(summary.attempts)],
      ['fact.refused', refused === 0 ? '0' : `${format.whole(refused)} (${refusals.map(([reason, count]) => `${text.outcome(reason)} ${format.whole(count)}`).join(', ')})`],
      ['fact.timeouts', format.whole(summary.timeouts)],
      ['fact.retried', format.whole(summary.retried)],
      ['fact.first', `${format.withUnit(format.of('number', first.goodput_rps), text.unit('req/s'))}; ${say('fact.served', { count: format.whole(first.completed) })}`],
      ['fact.wait', format.of('seconds', summary.wait_s.mean)],
      ['fact.estimate', `${format.of('share', summary.estimate_relative_error)}; ${spread(summary.estimate_error_s, 'seconds')}`],
      ['fact.prediction', say('fact.ratio', {
        spread: spread(prediction.ratio, 'number'), over: format.of('share', prediction.over_share), under: format.of('share', prediction.under_share),
      })],
      ['fact.reserved', format.withUnit(format.whole(summary.reserved_tokens), text.unit('tokens'))],
      ['fact.leaked', format.withUnit(format.whole(summary.leaked_tokens), text.unit('tokens'))],
      ['fact.leaked_slots', format.whole(summary.leaked_slots)],
    ];
    return html`<dl class="gateway-facts" aria-label=${say('facts.label')}>${facts.map(([name, value]) => html`<div data-fact=${name.slice('fact.'.length)}><dt>${say(name)}</dt><dd>${value}</dd></div>`)}</dl>`;
  }
}

customElements.define('gateway-section', GatewaySection);
