// All controls: the headline controls always there, every other group folded. On a narrow screen this is the sheet at the bottom
// edge, which shows the headline controls until it is opened.
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import { LightElement } from '../app/element.js';
import type { Parameter, Schema } from '../simulation/types.js';
import { stationOfGroup } from '../state/stations.js';
import type { Watchable } from '../lib/topic.js';
import { onlyAtGateway } from '../controls/borrowed.js';
import { fileValue, inactive, isUsable } from '../controls/inactive.js';
import '../controls/parameter-control.js';
import { isInSideColumn } from '../ui/reveal.js';
import { part } from '../lib/part.js';

const HEADLINE = 'headline';
/** The card has the prompts' length, too: the one of these that the distribution has. */
const PROMPT_LENGTHS = ['workload.input_tokens.median', 'workload.input_tokens.mean', 'workload.input_tokens.value', 'workload.input_tokens.high'];
/** After rate and burstiness: before what is about adapters. */
const PLACE_OF_PROMPTS = 2;

type Section = Schema['sections'][number];

export class ControlPanel extends LightElement {
  static override properties = { ...LightElement.properties, open: { state: true } };
  declare open: boolean;

  protected override watched(): Watchable[] {
    return [this.app.shown, this.app.editor.drafts, this.app.errors, this.app.traceFile.info, this.app.view];
  }

  /** On a phone it is a sheet over the page: Esc closes it, and the button that opens it has the focus again. */
  readonly #key = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || event.defaultPrevented || this.open !== true) return;
    event.preventDefault();
    // Anywhere else Esc ends the run.
    event.stopPropagation();
    this.open = false;
    this.querySelector<HTMLElement>('.sheet-handle')?.focus();
  };

  override connectedCallback(): void {
    super.connectedCallback();
    this.addEventListener('keydown', this.#key);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.removeEventListener('keydown', this.#key);
  }

  protected override look(): string {
    const { app } = this;
    let marks = app.view.value.station ?? '';
    for (const parameter of app.schema.parameters) {
      const { id } = parameter;
      marks += 8 * Number(typeof fileValue(app, parameter) === 'number') + 4 * Number(app.editor.isChanged(id)) + 2 * Number(app.problem(id) !== undefined) + Number(app.store.resolved.inactive.has(id));
    }
    return marks;
  }

  protected override render(): TemplateResult {
    const { app } = this;
    const { t } = app.text;
    const open = this.open === true;
    this.classList.toggle('open', open);
    return html`
      <button class="sheet-handle" type="button" aria-expanded=${open} @click=${() => { this.open = !open; }}>
        ${open ? t('control.less') : t('control.more')}</button>
      <section class="headline-controls ${this.#marked(HEADLINE)}" id="group-headline" aria-label=${t('group.headline')}>
        <h2>${t('group.headline')}</h2>
        ${this.#controls(this.#card())}
      </section>
      <div class="groups">
        ${app.schema.sections.map((section) => this.#section(section))}
        <button type="button" class="reset-all" ?disabled=${Object.keys(app.store.values.value).length === 0}
          @click=${() => { app.editor.replace({}, 'reset'); }}>${t('menu.reset_all')}</button>
      </div>`;
  }

  /** What people choose first, the groups behind it, and one line for all that does not apply where something of it was set; otherwise the
   * search finds it. */
  #section({ name, first, groups }: Section): TemplateResult {
    const { app } = this;
    const leads = first.flatMap((id) => app.parameters.get(id) ?? []).filter(({ group }) => group !== HEADLINE);
    const behind = groups.filter((group) => group !== HEADLINE && isInSideColumn(group))
      .map((group) => ({ group, parameters: this.#inGroup(group).filter(({ id }) => !first.includes(id) && id !== this.#promptLength()?.id) }));
    const isIdle = (parameter: Parameter): boolean => !isUsable(inactive(app, parameter)) && typeof fileValue(app, parameter) !== 'number';
    // The panel of the gateway shows all of its own.
    const idle = behind.filter(({ group }) => !this.#isGateway(group)).flatMap(({ parameters }) => parameters.filter(isIdle));
    const wrong = idle.some(({ id }) => app.problem(id) !== undefined);
    const open = this.#opened.has(name) || wrong;
    return html`
      <section class="control-section" data-section=${name} aria-labelledby=${leads.length === 0 ? nothing : `controls-${name}`}>
        ${leads.length === 0 ? nothing : html`<h2 id="controls-${name}">${app.text.named('controls.', name)}</h2>${this.#controls(leads, true, true)}`}
        ${behind.map(({ group, parameters }) => this.#group(group, this.#isGateway(group) ? parameters : parameters.filter((parameter) => !isIdle(parameter))))}
        <details class="idle ${idle.some(({ id }) => app.editor.isChanged(id)) ? '' : 'unlisted'}" ?hidden=${idle.length === 0} .open=${open} @toggle=${(event: Event) => { this.#toggled(name, event); }}>
          <summary>${app.text.t('control.idle', { count: idle.length })}</summary>
          ${this.#controls(idle, open)}
        </details>
      </section>`;
  }

  #isGateway(group: string): boolean {
    return group === 'gateway' && this.app.store.resolved.values['gateway.kind'] === 'proxy';
  }

  #group(group: string, parameters: readonly Parameter[]): TemplateResult | typeof nothing {
    if (parameters.length === 0) return nothing;
    const { app } = this;
    const changed = parameters.some(({ id }) => app.editor.isChanged(id));
    const wrong = parameters.some(({ id }) => app.problem(id) !== undefined);
    const open = this.#isOpen(group) || wrong;
    const gpu = app.parameters.get('fleet.gpu');
    return html`
      <details class="group ${this.#marked(group)}" id="group-${group}" .open=${open} @toggle=${(event: Event) => { this.#toggled(group, event); }}>
        <summary><h3>${app.text.named('group.', group)}</h3><i class="dot" ?hidden=${!changed}></i></summary>
        ${this.#isGateway(group) ? this.#gateway(parameters) : this.#controls(parameters, open)}
        ${group === 'fleet' && open ? this.#pools() : nothing}
        ${group === 'fleet' && open && gpu !== undefined && isUsable(inactive(app, gpu)) ? this.#deployment() : nothing}
      </details>`;
  }

  #gateway(parameters: readonly Parameter[]): unknown {
    if (customElements.get('gateway-panel') === undefined) {
      void part(() => import('../gateway/gateway-panel.js')).then(() => { this.requestUpdate(); });
      return nothing;
    }
    return parameters.length === 0 ? nothing : html`<gateway-panel .app=${this.app}></gateway-panel>`;
  }

  /** Not before its script is there: an element that is defined later would be connected without its app. */
  #deployment(): TemplateResult | typeof nothing {
    if (customElements.get('deployment-panel') === undefined) {
      void part(() => import('../deployment/deployment-panel.js')).then(() => { this.requestUpdate(); });
      return nothing;
    }
    return html`<deployment-panel .app=${this.app}></deployment-panel>`;
  }

  /** The same of the editor of pools. */
  #pools(): TemplateResult | typeof nothing {
    if (customElements.get('pools-editor') === undefined) {
      void part(() => import('../deployment/pools-editor.js')).then(() => { this.requestUpdate(); });
      return nothing;
    }
    return html`<pools-editor .app=${this.app}></pools-editor>`;
  }

  /** `near`: in sight, not folded away. `lead`: at the head of a section. */
  #controls(parameters: readonly Parameter[], near = true, lead = false): unknown {
    return repeat(parameters, ({ id }) => id, (parameter) => html`
      <parameter-control .app=${this.app} .parameter=${parameter} .near=${near} .lead=${lead}></parameter-control>`);
  }

  /** What is in sight first. */
  #card(): Parameter[] {
    const headline = this.#inGroup(HEADLINE);
    const prompts = this.#promptLength();
    return [...headline.slice(0, PLACE_OF_PROMPTS), ...(prompts === undefined ? [] : [prompts]), ...headline.slice(PLACE_OF_PROMPTS)];
  }

  #promptLength(): Parameter | undefined {
    const known = PROMPT_LENGTHS.flatMap((id) => this.app.parameters.get(id) ?? []);
    return known.find((parameter) => isUsable(inactive(this.app, parameter)));
  }

  #inGroup(group: string): Parameter[] {
    return this.app.schema.parameters.filter((parameter) => parameter.group === group && !onlyAtGateway(this.app, parameter));
  }

  readonly #opened = new Set<string>();

  #isOpen(group: string): boolean {
    return this.#opened.has(group) || this.#marked(group) !== '';
  }

  #toggled(group: string, event: Event): void {
    if ((event.target as HTMLDetailsElement).open) this.#opened.add(group);
    else this.#opened.delete(group);
    this.requestUpdate();
  }

  #marked(group: string): string {
    const { station } = this.app.view.value;
    return station !== null && stationOfGroup(station, group) ? 'marked' : '';
  }
}

customElements.define('control-panel', ControlPanel);
