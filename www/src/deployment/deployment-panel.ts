// What lies in each GPU's memory, and where the times of the deployment come from. The simulator computes both.
import { html, nothing, svg, type TemplateResult } from 'lit';
import { LightElement } from '../app/element.js';
import { Refusal } from '../simulation/worker-link.js';
import type { DeploymentView } from '../simulation/types.js';
import { ownProfile } from '../app/own-profile.js';
import { partsOf, type Watchable } from '../lib/topic.js';
import './deployment-panel.css';
import { deployment } from '../i18n/en/deployment.js';
import { part } from '../lib/part.js';

type Part = DeploymentView['parts'][number];

const WIDTH = 400;
/** Smaller parts could not be seen. */
const LEAST_GB = 0.05;
/** Iteration-time models whose tables may have to be fetched. */
const TIMED = ['profile', 'kernels'];

/** Keys of what the module says was held out of the fit. */
type HeldOut = Extract<keyof (typeof deployment)['english'], `held.${string}.${string}`>;

export class DeploymentPanel extends LightElement {
  static override properties = { ...LightElement.properties, view: { state: true } };
  declare view: DeploymentView | null;
  /** The settings that the view is of. */
  #asked = '';
  #forget: () => void = () => undefined;

  constructor() {
    super();
    this.view = null;
  }

  protected override watched(): Watchable[] {
    return [this.app.shown];
  }

  protected override look(): string {
    return String(this.app.store.resolved.values['cost.kind']);
  }

  /** Asked when a run has ended, well or not: a drag is not held up. */
  override connectedCallback(): void {
    super.connectedCallback();
    this.#forget = partsOf(this.app.session, ({ state }) => state).subscribe(() => { void this.#ask(); });
    void this.#ask();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#forget();
  }

  async #ask(): Promise<void> {
    if (this.app.session.value.state === 'running') return;
    const scenario = this.app.store.values.value;
    const isTimed = TIMED.includes(String(this.app.store.resolved.values['cost.kind']));
    const asked = JSON.stringify([scenario, ownProfile.value?.text ?? '']);
    if (asked === this.#asked) return;
    this.#asked = asked;
    try {
      const view = await this.app.ask({ kind: 'call', call: 'deployment', values: [scenario] }) as DeploymentView;
      if (asked !== this.#asked) return;
      // Most settings have no part in it, and drawing it costs a frame of a drag its time.
      if (JSON.stringify(view) !== JSON.stringify(this.view)) this.view = view;
      // Without its table there is nothing to say of its times yet.
      if (isTimed && view.timed === null) this.#asked = '';
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown;
    }
  }

  protected override render(): TemplateResult | typeof nothing {
    const { view } = this;
    if (view === null) return nothing;
    const say = this.app.text.say(deployment);
    const name = (pool: DeploymentView, place: number): string => (pool.name === '' ? say('pools.pool', { number: place + 1 }) : pool.name);
    const title = (pool: DeploymentView, place: number): string => (view.others.length === 0 ? say('memory.title') : say('memory.title.pool', { name: name(pool, place) }));
    return html`${[view, ...view.others].map((pool, place) => this.#memory(pool, title(pool, place)))}
      ${this.app.store.resolved.values['cost.kind'] === 'profile' ? this.#profile(view) : this.#model()}`;
  }

  /** The memory of a pool's GPUs, its price, and where its times come from. */
  #memory(view: DeploymentView, title: string): TemplateResult {
    const say = this.app.text.say(deployment);
    const { format } = this.app.text;
    const gb = (value: number): string => format.short(value);
    const short = view.missing_gb > 0;
    const shown = view.parts.filter((part) => part.gb >= LEAST_GB);
    const label = (part: Part): string => say('memory.part', { name: say(`memory.${part.name}`), gb: gb(part.gb) });
    const sentence = short
      ? say('memory.short', { model: view.model, gpu: view.gpu, missing: gb(view.missing_gb) })
      : say(view.ranks > 1 ? 'memory.sum_of_ranks' : 'memory.sum', { ranks: view.ranks, gpus: view.gpus, gpu: view.gpu, memory: gb(view.memory_gb), tokens: format.whole(view.kv_tokens) });
    return html`
      <figure class="memory" data-fits=${String(!short)}>
        <figcaption>${title}</figcaption>
        ${this.#bar(view, shown, shown.map(label).join(', '))}
        <ul class="legend">${shown.map((part) => html`<li><svg class="swatch" data-part=${part.name} viewBox="0 0 20 8" aria-hidden="true"><rect class="face" width="20" height="8"/></svg>${label(part)}</li>`)}</ul>
        <p class=${short ? 'short' : ''} role=${short ? 'alert' : nothing}>${sentence}</p>
        ${view.nodes < 2 ? nothing : html`<p data-nodes=${view.nodes}>${say('nodes', { nodes: format.whole(view.nodes), gb: format.short(view.node_link_gb_s) })}</p>`}
        ${view.usd_per_hour === null || view.price === null ? nothing : html`<p>${say('price', { usd: format.short(view.usd_per_hour), kind: this.app.text.option(view.price.kind, 'capacity.price_kind'), source: [view.price.source, view.price.date].filter(Boolean).join(', ') })}</p>`}
        <p class="origin" data-origin=${originOf(view)} data-held-out=${view.timed?.held_out.length ?? 0}>${this.#origin(view)} ${this.#heldOut(view)}</p>
      </figure>`;
  }

  /** Not before its script is there: an element that is defined later would be connected without its app. */
  #profile(view: DeploymentView): TemplateResult | typeof nothing {
    if (customElements.get('profile-section') === undefined) {
      void part(() => import('../profile/profile-section.js')).then(() => { this.requestUpdate(); });
      return nothing;
    }
    return html`<profile-section .app=${this.app} .view=${view}></profile-section>`;
  }

  /** Timed operators are of their own models; every other model of times here knows dimensions. */
  #model(): TemplateResult | typeof nothing {
    if (customElements.get('model-section') === undefined) {
      void part(() => import('./model-section.js')).then(() => { this.requestUpdate(); });
      return nothing;
    }
    return html`<model-section .app=${this.app}></model-section>`;
  }

  #origin({ cost, timed }: DeploymentView): string {
    const say = this.app.text.say(deployment);
    const { format } = this.app.text;
    const percent = (share: number): string => format.short(100 * share);
    if (timed?.kind === 'kernels') {
      const standIns = timed.stand_ins.join(this.app.text.t('list.items'));
      return [say('cost.kernels', { name: timed.name }), standIns === '' ? '' : say('cost.stand_ins', { tables: standIns })].join(' ');
    }
    if (timed !== null) {
      const part = ({ name, origin, median_error, p95_error }: (typeof timed.parts)[number]): string =>
        say(name === 'attention' ? 'cost.attention' : 'cost.operators', {
          origin: say(`origin.${origin}`), median: percent(median_error), p95: percent(p95_error),
        });
      return say(timed.file === null ? 'cost.timed' : 'cost.loaded', { name: timed.name, file: timed.file ?? '', parts: timed.parts.map(part).join(this.app.text.t('list.sentences')) });
    }
    if (TIMED.includes(String(this.app.store.resolved.values['cost.kind']))) return '';
    return say(`cost.${modelledFrom(cost)}`, { gpu: cost.measured_on, best: percent(cost.best), worst: percent(cost.worst) });
  }

  /** How far timed operators are off where nothing was timed. */
  #heldOut({ timed }: DeploymentView): string {
    if (timed === null || timed.held_out.length === 0) return '';
    const say = this.app.text.say(deployment);
    const { format } = this.app.text;
    const percent = (share: number): string => format.short(100 * share);
    const parts = timed.held_out.map(({ name, unseen, from, to }) => say(`held.${name}.${unseen}` as HeldOut, { from: percent(from), to: percent(to) }));
    return say('held.all', { parts: parts.join(this.app.text.t('list.sentences')) });
  }

  /** The parts side by side; the line is where the memory ends, and what lies beyond it is missing. */
  #bar(view: DeploymentView, parts: readonly Part[], label: string): TemplateResult {
    const all = Math.max(view.memory_gb, parts.reduce((sum, { gb }) => sum + gb, 0));
    let from = 0;
    const rects = parts.map((part) => {
      const width = (part.gb / all) * WIDTH;
      const rect = svg`<rect class="face" data-part=${part.name} x=${from.toFixed(2)} y="0" width=${Math.max(width - 1, width / 2).toFixed(2)} height="18"/>`;
      from += width;
      return rect;
    });
    const end = ((view.memory_gb / all) * WIDTH).toFixed(2);
    return html`<svg class="memory-bar" role="img" aria-label=${label} viewBox="0 0 ${WIDTH} 24" preserveAspectRatio="none">
      ${rects}<line class="end" x1=${end} x2=${end} y1="0" y2="24"/></svg>`;
  }
}

function modelledFrom(cost: DeploymentView['cost']): 'peaks' | 'own' | 'borrowed' {
  if (cost.measured_on === '') return 'peaks';
  return cost.own ? 'own' : 'borrowed';
}

/** Where times come from, for the document. */
function originOf({ cost, timed }: DeploymentView): string {
  if (timed === null) return modelledFrom(cost);
  if (timed.kind === 'kernels') return 'kernels';
  return timed.file === null ? 'timed' : 'loaded';
}

customElements.define('deployment-panel', DeploymentPanel);
