// One parameter: its label, its input, its help, and why it has no effect or cannot have the value typed. Everything
// about it comes from the parameter table.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { loadOf } from '../headline/load-state.js';
import { LightElement } from '../app/element.js';
import { pageError, type Diagnostic, type Parameter, type ParameterValue } from '../simulation/types.js';
import { randomSeed } from '../simulation/module.js';
import { reveal } from '../ui/reveal.js';
import { partsOf, type Watchable } from '../lib/topic.js';
import { controlNote, GATEWAY_ORDER, isOrderedAtGateway } from './control-note.js';
import { fileValue, inactive as reasonOf, inactiveMark, inactiveReason, isUsable, remedyOf, remedyWords, whyOf } from './inactive.js';
import { lessonLink, wantLessonLink } from './lesson-link.js';
import { parseTyped } from './typed.js';
import { slider } from './slider.js';

const TYPING_PAUSE_MS = 400;
/** At 0 the bound of the SLO stands for these. */
const AS_SLO: ReadonlySet<string> = new Set(['capacity.ttft_s', 'capacity.tbt_s', 'capacity.tpot_s']);

const unneeded = (app: App): readonly Diagnostic[] => loadOf(app).answer.value.unneeded;

export class ParameterControl extends LightElement {
  static override properties = { ...LightElement.properties, parameter: { attribute: false }, helpOpen: { state: true }, near: { attribute: false }, lead: { attribute: false } };
  declare parameter: Parameter;
  declare helpOpen: boolean;
  /** Whether it is in sight; false while it is folded away. A control in sight that does not apply offers to make itself apply. */
  declare near: boolean | undefined;
  /** Whether it stands at the head of its section: a choice there makes itself apply. */
  declare lead: boolean;
  #typing: ReturnType<typeof setTimeout> | undefined;

  protected override watched(): Watchable[] {
    return [this.app.shown, this.app.editor.drafts, this.app.errors, this.app.traceFile.info, this.app.belonging.stale, partsOf(this.app.session, ({ answer }) => answer?.summary.warnings), partsOf(loadOf(this.app).answer, (answer) => answer.unneeded)];
  }

  /** Most controls are folded away, and never seen. */
  protected override get isFolded(): boolean {
    return this.near === false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.dataset['parameter'] = this.parameter.id;
  }

  /** One of some hundreds of controls: a move of one slider must not draw them all. */
  protected override look(): string {
    const { app, parameter } = this;
    const { id } = parameter;
    const problem = app.problem(id);
    const about = problem === undefined ? '' : `${problem.code} ${problem.message}`;
    return `${String(this.#value)}|${String(app.store.resolved.defaults[id])}|${inactiveMark(app, parameter)}|${controlNote(app, id, unneeded(app)) ?? ''}|${String(isOrderedAtGateway(app, id))}|${about}|${String(fileValue(app, parameter))}`;
  }

  /** A file's own number where it decides the parameter: null where it has none. */
  get #fromFile(): number | null | undefined {
    return fileValue(this.app, this.parameter);
  }

  get #value(): ParameterValue {
    const { id } = this.parameter;
    return this.app.editor.drafts.value.get(id)?.value ?? this.app.store.resolved.values[id] ?? this.parameter.default;
  }

  get #inputId(): string {
    return `p-${this.parameter.id.replaceAll('.', '-')}`;
  }

  protected override render(): TemplateResult {
    const { app, parameter } = this;
    const { text } = app;
    const problem = app.problem(parameter.id);
    const inactive = inactiveReason(app, parameter) ?? controlNote(app, parameter.id, unneeded(app));
    const changed = app.editor.isChanged(parameter.id);
    const defaultText = text.value(parameter, app.store.resolved.defaults[parameter.id] ?? parameter.default);
    const fromFile = this.#fromFile;
    if (fromFile === undefined) delete this.dataset['fromFile'];
    else this.dataset['fromFile'] = String(fromFile ?? '');
    this.classList.toggle('changed', changed);
    const disabled = !isUsable(reasonOf(app, parameter));
    this.classList.toggle('inactive', disabled);
    this.classList.toggle('wrong', problem !== undefined);
    const id = this.#inputId;
    return html`
      <div class="control-head">
        <label for=${id} title=${text.t('control.reset', { default: defaultText })} @dblclick=${this.#reset}>${text.label(parameter)}</label>
        <button class="dot" type="button" ?hidden=${!changed} title=${text.t('control.reset', { default: defaultText })}
          aria-label=${`${text.label(parameter)}: ${text.t('control.changed', { default: defaultText })}. ${text.t('control.reset', { default: defaultText })}`}
          @click=${this.#reset}></button>
        <button class="quiet what" type="button" aria-expanded=${this.helpOpen === true} aria-controls="${id}-help"
          aria-label=${text.t('control.help', { name: text.label(parameter) })}
          @click=${() => { this.#help(); }}>?</button>
        ${this.#box(disabled)}
      </div>
      ${this.#slider(disabled)}
      <p class="control-help" id="${id}-help" data-changes=${parameter.changes} ?hidden=${this.helpOpen !== true}>${text.help(parameter)}
        ${parameter.changes === 'score' ? text.t('control.score') : nothing} ${this.helpOpen === true ? lessonLink(app, parameter.id) : nothing}</p>
      <div class="control-reason" ?hidden=${inactive === null}>${inactive} ${disabled && this.near === true ? html`${this.#use()}${this.#why()}` : nothing}</div>
      ${this.#elsewhere()}
      <p class="control-error" id="${id}-error" role=${problem === undefined ? nothing : 'alert'} data-code=${problem?.code ?? ''} ?hidden=${problem === undefined}>${problem === undefined ? nothing : text.diagnostic(problem)}</p>`;
  }

  /** Where requests wait at the gateway its own policy decides. */
  #elsewhere(): TemplateResult | typeof nothing {
    const { app, parameter } = this;
    if (!isOrderedAtGateway(app, parameter.id)) return nothing;
    const other = app.parameters.get(GATEWAY_ORDER);
    if (other === undefined) return nothing;
    return html`<p class="control-reason" data-elsewhere=${GATEWAY_ORDER}>${app.text.t('control.at_gateway')}
      <button type="button" class="act" @click=${() => { reveal(app, other); }}>${app.text.label(other)}</button></p>`;
  }

  #help(): void {
    this.helpOpen = this.helpOpen !== true;
    if (this.helpOpen) wantLessonLink(() => { this.requestUpdate(); });
  }

  /** What gives the parameter an effect, as a button. */
  #use(): TemplateResult | typeof nothing {
    const { app, parameter } = this;
    const words = remedyWords(app, remedyOf(app, parameter));
    if (words === null) return nothing;
    return html`<button type="button" class="act" data-use=${parameter.id} @click=${() => {
      app.touch(parameter.id);
      app.editor.store.edit(remedyOf(app, parameter), `use ${parameter.id}`);
      // It stands among the controls that apply now.
      setTimeout(() => { reveal(app, parameter); });
    }}>${words}</button>`;
  }

  /** The conditions behind the remedy: a list of what must hold, and in it a list of which one is enough. */
  #why(): TemplateResult | typeof nothing {
    const { t } = this.app.text;
    const why = whyOf(this.app, this.parameter);
    if (why === null) return nothing;
    const items = (lines: readonly string[]): TemplateResult[] => lines.map((line) => html`<li>${line}</li>`);
    const more = why.more === 0 ? nothing : html`<li>${t('control.why.more', { count: why.more })}</li>`;
    const any = html`<ul>${items(why.any)}${more}</ul>`;
    const [condition = ''] = why.all;
    const isOne = why.all.length === 1 && why.any.length === 0 && why.more === 0;
    return html`<details class="control-why" data-why=${this.parameter.id}><summary>${t('control.why')}</summary>
      ${isOne ? t('control.why.one', { condition }) : why.all.length === 0 ? html`${t('control.why.any')}${any}`
        : html`${t('control.why.all')}<ul>${items(why.all)}${why.any.length === 0 ? more : html`<li>${t('control.why.and_any')}${any}</li>`}</ul>`}</details>`;
  }

  #box(disabled: boolean): TemplateResult {
    const { parameter, app } = this;
    const id = this.#inputId;
    const value = this.#value;
    switch (parameter.type) {
      case 'choice': return html`<select id=${id} ?disabled=${disabled && !this.#isTaken(disabled)} @change=${(event: Event) => { this.#choose((event.target as HTMLSelectElement).value, disabled); }}>
        ${this.#fromFile === undefined ? nothing : html`<option value="" selected>–</option>`}
        ${parameter.options.map((option) => html`<option value=${option} .selected=${option === value && this.#fromFile === undefined}>${app.text.choice(parameter, option)}</option>`)}</select>`;
      case 'boolean': return html`<input id=${id} type="checkbox" ?disabled=${disabled} .checked=${value === true}
        @change=${(event: Event) => { this.#set((event.target as HTMLInputElement).checked); }}>`;
      case 'text':
      case 'list': return html`<input id=${id} class="value list" type="text" ?disabled=${disabled} autocomplete="off"
        aria-describedby="${id}-error" @input=${this.#typed} @change=${this.#commit} @blur=${this.#settle}>`;
      case 'number':
      case 'integer': return html`
        ${parameter.id === 'seed' ? html`<button type="button" class="quiet" @click=${() => { this.#set(randomSeed()); }}>${app.text.t('control.new_seed')}</button>` : nothing}
        <input id=${id} class="value" type="text" inputmode="decimal" ?disabled=${disabled} autocomplete="off"
          aria-describedby="${id}-error" @input=${this.#typed} @change=${this.#commit} @blur=${this.#settle}>
        <span class="unit">${parameter.off_at_zero === true && value === 0 ? app.text.t(AS_SLO.has(parameter.id) ? 'control.as_slo' : 'control.off') : app.text.unit(parameter.unit)}</span>`;
    }
  }

  #slider(disabled: boolean): TemplateResult | typeof nothing {
    const fromFile = this.#fromFile;
    const value = fromFile === undefined ? this.#value : fromFile;
    if (this.parameter.slider === undefined || typeof value !== 'number') return nothing;
    return slider({
      app: this.app, parameter: this.parameter, range: this.parameter.slider, value, disabled, now: () => Number(this.#value),
      set: (next) => { this.#set(next); }, reset: this.#reset,
    });
  }

  /** The box shows the scenario's value, but not while it is typed in. */
  protected override updated(): void {
    const box = this.querySelector<HTMLInputElement>('input.value');
    if (box !== null && document.activeElement !== box) box.value = this.#written();
  }

  #written(): string {
    const fromFile = this.#fromFile;
    if (fromFile !== undefined) return fromFile === null ? '' : String(Number(fromFile.toPrecision(4)));
    const value = this.#value;
    return Array.isArray(value) ? value.join(', ') : String(value);
  }

  readonly #typed = (event: Event): void => {
    const box = event.target as HTMLInputElement;
    clearTimeout(this.#typing);
    this.#typing = setTimeout(() => { this.#read(box); }, TYPING_PAUSE_MS);
  };

  readonly #commit = (event: Event): void => {
    this.#read(event.target as HTMLInputElement);
  };

  /** A box that was left empty takes up the scenario's value again. */
  readonly #settle = (event: Event): void => {
    const box = event.target as HTMLInputElement;
    if (box.value.trim() === '' && !box.validity.badInput) this.app.editor.forget(this.parameter.id);
    this.requestUpdate();
  };

  #read(box: HTMLInputElement): void {
    clearTimeout(this.#typing);
    const typed = parseTyped(this.parameter, box.value, box.validity.badInput);
    if ('value' in typed) this.#set(typed.value);
    else this.#reject(typed.wrong);
  }

  /** What cannot even be read; the module says the rest. */
  #reject(code: 'not_a_number' | 'not_a_list'): void {
    const { id } = this.parameter;
    const error = pageError(code, this.app.text.t(`control.${code}`), id);
    this.app.editor.reject(id, { value: this.#value, error });
  }

  /** Whether a choice can be made although the parameter does not apply: what makes it apply is set with it. */
  #isTaken(disabled: boolean): boolean {
    return disabled && this.lead && this.#fromFile === undefined && Object.keys(remedyOf(this.app, this.parameter)).length > 0;
  }

  #choose(value: string, disabled: boolean): void {
    const { app, parameter } = this;
    const { id } = parameter;
    if (!disabled) {
      this.#set(value);
      return;
    }
    app.touch(id);
    app.editor.store.edit({ ...remedyOf(app, parameter, { [id]: value }), [id]: value }, `use ${id}`);
  }

  #set(value: ParameterValue): void {
    this.app.editor.set(this.parameter.id, value);
  }

  readonly #reset = (): void => {
    this.app.editor.set(this.parameter.id, null);
  };
}

customElements.define('parameter-control', ParameterControl);
