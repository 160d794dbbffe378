// All controls: the heroes always there, every other group folded. On a narrow screen this is the sheet at the bottom
// edge, which shows the heroes until it is opened.
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import { LightElement } from '../element.js';
import type { Parameter } from '../simulation/types.js';
import { stationOfGroup } from '../state/stations.js';
import type { Watchable } from '../state/topic.js';
import { onlyAtGateway } from './borrowed.js';
import { fileValue, inactive, isUsable } from './inactive.js';
import './parameter-control.js';

const HEROES = 'heroes';
/** Its controls stand beside its answer, in a view of its own. */
const ELSEWHERE = 'capacity';

export class ControlPanel extends LightElement {
  static override properties = { ...LightElement.properties, open: { state: true } };
  declare open: boolean;

  protected override watched(): Watchable[] {
    return [this.app.shown, this.app.editor.drafts, this.app.failures, this.app.traceFile.info, this.app.view];
  }

  protected override look(): string {
    const { app } = this;
    let marks = app.view.value.station ?? '';
    for (const parameter of app.schema.parameters) {
      const { id } = parameter;
      marks += 8 * Number(typeof fileValue(app, parameter) === 'number') + 4 * Number(app.editor.isChanged(id)) + 2 * Number(app.problem(id) !== undefined) + Number(inactive(app, parameter) !== null);
    }
    return marks;
  }

  protected override render(): TemplateResult {
    const { app } = this;
    const { t } = app.text;
    const open = this.open === true;
    this.classList.toggle('open', open);
    const [heroes, ...others] = [HEROES, ...app.schema.groups.filter((group) => group !== HEROES && group !== ELSEWHERE)];
    return html`
      <button class="sheet-handle" type="button" aria-expanded=${open} @click=${() => { this.open = !open; }}>
        ${open ? t('control.less') : t('control.more')}</button>
      <section class="heroes ${this.#marked(HEROES)}" id="group-heroes" aria-label=${t('group.heroes')}>
        ${this.#controls(this.#inGroup(heroes))}
      </section>
      <div class="groups">
        ${others.map((group) => this.#group(group))}
        <button type="button" class="reset-all" ?disabled=${Object.keys(app.store.values.value).length === 0}
          @click=${() => { app.editor.replace({}, 'reset'); }}>${t('menu.reset_all')}</button>
      </div>`;
  }

  #group(group: string): TemplateResult | typeof nothing {
    const parameters = this.#inGroup(group);
    if (parameters.length === 0) return nothing;
    const { app } = this;
    const idle = parameters.filter((parameter) => !isUsable(inactive(app, parameter)) && typeof fileValue(app, parameter) !== 'number');
    const active = parameters.filter((parameter) => !idle.includes(parameter));
    const changed = parameters.some(({ id }) => app.editor.isChanged(id));
    const wrong = parameters.some(({ id }) => app.problem(id) !== undefined);
    return html`
      <details class="group ${this.#marked(group)}" id="group-${group}" .open=${this.#isOpen(group) || wrong} @toggle=${(event: Event) => { this.#toggled(group, event); }}>
        <summary><h2>${app.text.named('group.', group)}</h2><i class="dot" ?hidden=${!changed}></i></summary>
        ${group === 'gateway' && app.store.resolved.values['gateway.kind'] === 'proxy' ? this.#gateway(parameters) : html`
          ${this.#controls(active)}
          ${group === 'fleet' && active.some(({ id }) => id === 'fleet.gpu') ? this.#deployment() : nothing}
          <details class="idle" ?hidden=${idle.length === 0}>
            <summary>${app.text.t('control.idle', { count: idle.length })}</summary>
            ${this.#controls(idle)}
          </details>`}
      </details>`;
  }

  #gateway(parameters: readonly Parameter[]): unknown {
    const kind = this.#controls(parameters.filter(({ id }) => id === 'gateway.kind'));
    if (customElements.get('gateway-panel') === undefined) {
      void import('../gateway/gateway-panel.js').then(() => { this.requestUpdate(); });
      return kind;
    }
    return html`${kind}<gateway-panel .app=${this.app}></gateway-panel>`;
  }

  /** Not before its script is there: an element that is defined later would be connected without its app. */
  #deployment(): TemplateResult | typeof nothing {
    if (customElements.get('deployment-panel') === undefined) {
      void import('../deployment/deployment-panel.js').then(() => { this.requestUpdate(); });
      return nothing;
    }
    return html`<deployment-panel .app=${this.app}></deployment-panel>`;
  }

  #controls(parameters: readonly Parameter[]): unknown {
    return repeat(parameters, ({ id }) => id, (parameter) => html`
      <parameter-control .app=${this.app} .parameter=${parameter}></parameter-control>`);
  }

  #inGroup(group: string | undefined): Parameter[] {
    return this.app.schema.parameters.filter((parameter) => parameter.group === group && !onlyAtGateway(this.app, parameter));
  }

  readonly #opened = new Set<string>();

  #isOpen(group: string): boolean {
    return this.#opened.has(group) || this.#marked(group) !== '';
  }

  #toggled(group: string, event: Event): void {
    if ((event.target as HTMLDetailsElement).open) this.#opened.add(group);
    else this.#opened.delete(group);
  }

  #marked(group: string): string {
    const { station } = this.app.view.value;
    return station !== null && stationOfGroup(station, group) ? 'marked' : '';
  }
}

customElements.define('control-panel', ControlPanel);
