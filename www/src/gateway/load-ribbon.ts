// How loaded the proxy judged the service to be, as a ribbon on the clock of the time charts: their left margin, their zoom.
import { html, nothing, svg, type SVGTemplateResult, type TemplateResult } from 'lit';
import type { ChartView } from '../draw/chart-view.js';
import type { Drawable } from '../app/scheduler.js';
import { LightElement } from '../app/element.js';
import type { Summary } from '../simulation/types.js';
import { partsOf, type Watchable } from '../lib/topic.js';
import { gateway } from '../i18n/en/gateway.js';

/** The chart whose clock it shares. */
const LIKE = 'gateway_waiting';
const HEIGHT = 22;
/** Rows of the list of changes at most. */
const MOST_ROWS = 200;
/** A name narrower than this would not be read. */
const LEAST_NAMED_PX = 90;
const STATES = ['underload', 'near', 'overload'] as const;

interface Span { from: number; to: number; state: string }
interface Place { left: number; right: number; from: number; to: number }

/** Spans of one state after the other, to the end of the run. What changed at once lasted no time. */
function spansOf(states: readonly (readonly [number, string])[], end: number): Span[] {
  return states.flatMap(([from, state], index) => {
    const to = states[index + 1]?.[0] ?? end;
    return to > from ? [{ from, to, state }] : [];
  });
}

export class LoadRibbon extends LightElement implements Drawable {
  static override properties = { ...LightElement.properties, at: { state: true } };
  declare at: Place | null;

  constructor() {
    super();
    this.at = null;
  }

  protected override watched(): Watchable[] {
    return [partsOf(this.app.session, ({ answer }) => answer)];
  }

  get place(): HTMLElement {
    return this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.app.scheduler.add(this);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.app.scheduler.remove(this);
  }

  /** When the charts of this frame are drawn, so that it stands as they do. */
  draw(): void {
    queueMicrotask(() => {
      const axis = this.app.session.value.answer?.charts.get(LIKE)?.x;
      const like = [...document.querySelectorAll<ChartView>('chart-view')].find(({ frame, chart, clientWidth }) => frame !== null && chart?.x.kind === 'time' && clientWidth === this.clientWidth);
      const frame = like?.frame ?? null;
      if (axis === undefined || frame === null) return;
      this.at = { left: frame.left, right: frame.right, from: axis.min, to: axis.max };
    });
  }

  get #gateway(): Summary['gateway'] {
    return this.app.session.value.answer?.summary.gateway ?? null;
  }

  #name(state: string): string {
    const key = `state.${state}`;
    return this.app.text.find(gateway, key) ?? state;
  }

  protected override render(): TemplateResult | typeof nothing {
    const summary = this.#gateway;
    if (summary === undefined || summary === null) return nothing;
    const { app, at } = this;
    const say = app.text.say(gateway);
    const { format } = app.text;
    const spans = spansOf([[0, STATES[0]], ...summary.states], Math.max(app.session.value.answer?.summary.makespan_s ?? 0, at?.to ?? 0));
    const shares = STATES.map((state) => say('ribbon.text', { name: this.#name(state), share: format.of('share', summary.state_share[state] ?? 0) }));
    const label = `${say('ribbon.title')}: ${app.text.list(shares)}`;
    return html`
      <figure class="ribbon">
        <figcaption>
          <div class="caption-line"><h3>${say('ribbon.title')}</h3> <small>${say('ribbon.about')}</small></div>
          <ul class="legend">${STATES.map((state, index) => html`<li><svg class="swatch" viewBox="0 0 20 8" aria-hidden="true">${face(state, 0, 20, 8)}</svg>${shares[index]}</li>`)}</ul>
        </figcaption>
        <svg class="ribbon-strip" height=${HEIGHT} role="img" aria-label=${label}>
          <defs>
            <pattern id="load-near" width="6" height="6" patternUnits="userSpaceOnUse"><rect class="ground" width="6" height="6"/><path d="M-1.5 1.5l3-3M0 6l6-6M4.5 7.5l3-3"/></pattern>
            <pattern id="load-overload" width="4" height="4" patternUnits="userSpaceOnUse"><rect class="ground" width="4" height="4"/><path d="M0 2h4"/></pattern>
          </defs>
          ${at === null ? nothing : spans.map((span) => this.#span(span, at))}
        </svg>
        ${this.#list(spans)}
      </figure>`;
  }

  #span({ from, to, state }: Span, at: Place): SVGTemplateResult | typeof nothing {
    const [first, last] = [Math.max(from, at.from), Math.min(to, at.to)];
    if (last <= first) return nothing;
    const pixel = (time: number): number => at.left + ((time - at.from) / (at.to - at.from)) * (at.right - at.left);
    const [left, right] = [pixel(first), pixel(last)];
    const { format } = this.app.text;
    const title = `${this.#name(state)}: ${format.of('seconds', from)} – ${format.of('seconds', to)}`;
    return svg`<g data-state=${state}>${face(state, left, Math.max(right - left, 1), HEIGHT)}<title>${title}</title>
      ${right - left > LEAST_NAMED_PX ? svg`<text x=${left + 6} y="15" aria-hidden="true">${this.#name(state)}</text>` : nothing}</g>`;
  }

  /** The same in words. */
  #list(spans: readonly Span[]): TemplateResult {
    const say = this.app.text.say(gateway);
    const { format } = this.app.text;
    const count = Math.max(spans.length - 1, 0);
    return html`
      <details class="ribbon-list">
        <summary>${say('ribbon.changes', { count })}</summary>
        <div class="table-view" tabindex="0" role="region" aria-label=${say('ribbon.title')}>
          ${spans.length > MOST_ROWS ? html`<p>${say('ribbon.some', { shown: MOST_ROWS, count: spans.length })}</p>` : nothing}
          <table><thead><tr>${(['ribbon.from', 'ribbon.to', 'ribbon.state'] as const).map((key) => html`<th scope="col">${say(key)}</th>`)}</tr></thead>
            <tbody>${spans.slice(0, MOST_ROWS).map(({ from, to, state }) => html`<tr><td>${format.of('seconds', from)}</td><td>${format.of('seconds', to)}</td><td>${this.#name(state)}</td></tr>`)}</tbody></table>
        </div>
      </details>`;
  }
}

function face(state: string, left: number, width: number, height: number): SVGTemplateResult {
  return svg`<rect class="state" data-state=${state} x=${left.toFixed(2)} y="0" width=${width.toFixed(2)} height=${height}/>`;
}

customElements.define('load-ribbon', LoadRibbon);
