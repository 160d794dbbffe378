// A number in a sentence that is a control: dragged sideways, moved by the arrow keys, or typed. A choice is a list.
import { html, nothing, type TemplateResult } from 'lit';
import { live } from 'lit/directives/live.js';
import { Scale, type Stride } from '../controls/scale.js';
import { parseTyped } from '../controls/typed.js';
import { LightElement } from '../app/element.js';
import { lessons } from '../i18n/en/lessons.js';
import type { Parameter, ParameterValue } from '../simulation/types.js';
import type { Watchable } from '../lib/topic.js';

/** A press that moves less than this is a click into the box. */
const DRAG_PX = 4;
/** The whole range is dragged through in about this many pixels. */
const RANGE_PX = 240;
const STRIDES: Readonly<Record<string, readonly [1 | -1, Stride]>> = {
  ArrowUp: [1, 'fine'], ArrowRight: [1, 'fine'], ArrowDown: [-1, 'fine'], ArrowLeft: [-1, 'fine'], PageUp: [1, 'big'], PageDown: [-1, 'big'],
};

export class LessonControl extends LightElement {
  static override properties = { ...LightElement.properties, parameter: { attribute: false } };
  declare parameter: Parameter;
  #drag: { x: number; thumb: number; moved: boolean } | null = null;

  protected override watched(): Watchable[] {
    return [this.app.store.values, this.app.editor.drafts, this.app.errors];
  }

  get #value(): ParameterValue {
    const { id } = this.parameter;
    return this.app.editor.drafts.value.get(id)?.value ?? this.app.store.resolved.values[id] ?? this.parameter.default;
  }

  get #scale(): Scale | null {
    const { slider, type } = this.parameter;
    return slider === undefined ? null : new Scale(slider, type === 'integer');
  }

  protected override render(): TemplateResult {
    const { app, parameter } = this;
    this.dataset['parameter'] = parameter.id;
    const problem = app.problem(parameter.id);
    return html`${parameter.type === 'choice' ? this.#list() : this.#box()}${problem === undefined ? nothing : html` <span class="control-error" role="alert" data-code=${problem.code}>${app.text.diagnostic(problem)}</span>`}`;
  }

  #list(): TemplateResult {
    const { app, parameter } = this;
    return html`<select aria-label=${app.text.label(parameter)} @change=${(event: Event) => { this.#set((event.target as HTMLSelectElement).value); }}>
      ${parameter.options.map((option) => html`<option value=${option} .selected=${option === this.#value}>${app.text.choice(parameter, option)}</option>`)}</select>`;
  }

  #box(): TemplateResult {
    const { app, parameter } = this;
    const { text } = app;
    const value = this.#value;
    const range = parameter.slider;
    return html`<input class="scrub" type="text" inputmode="decimal" autocomplete="off" role="spinbutton" size=${Math.max(2, String(value).length)}
      aria-label=${text.say(lessons)('control.drag', { name: text.label(parameter) })} aria-valuenow=${Number(value)} aria-valuemin=${range?.min ?? nothing} aria-valuemax=${range?.max ?? nothing}
      aria-valuetext=${text.value(parameter, value)} title=${text.say(lessons)('control.drag', { name: text.label(parameter) })} .value=${live(String(value))}
      @change=${(event: Event) => { this.#typed(event.target as HTMLInputElement); }} @keydown=${(event: KeyboardEvent) => { this.#key(event); }}
      @pointerdown=${(event: PointerEvent) => { this.#press(event); }} @pointermove=${(event: PointerEvent) => { this.#move(event); }}
      @pointerup=${() => { this.#drag = null; }} @pointercancel=${() => { this.#drag = null; }}>`;
  }

  #set(value: ParameterValue): void {
    this.app.editor.set(this.parameter.id, value);
  }

  #typed(box: HTMLInputElement): void {
    const typed = parseTyped(this.parameter, box.value, box.validity.badInput);
    if ('value' in typed) this.#set(typed.value);
    this.requestUpdate();
  }

  #key(event: KeyboardEvent): void {
    const scale = this.#scale;
    const stride = STRIDES[event.key];
    if (event.key === 'Enter') this.#typed(event.target as HTMLInputElement);
    if (scale === null || stride === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const [direction, size] = stride;
    this.#set(scale.next(Number(this.#value), direction, event.shiftKey && size === 'fine' ? 'coarse' : size));
  }

  #press(event: PointerEvent): void {
    const scale = this.#scale;
    if (event.button !== 0 || scale === null) return;
    this.app.touch(this.parameter.id);
    this.#drag = { x: event.clientX, thumb: scale.toThumb(Number(this.#value)), moved: false };
  }

  #move(event: PointerEvent): void {
    const [drag, scale] = [this.#drag, this.#scale];
    if (drag === null || scale === null) return;
    const by = event.clientX - drag.x;
    if (!drag.moved && Math.abs(by) < DRAG_PX) return;
    if (!drag.moved) (event.target as HTMLElement).setPointerCapture(event.pointerId);
    drag.moved = true;
    event.preventDefault();
    const { min, max } = scale.thumb;
    this.#set(scale.fromThumb(Math.min(max, Math.max(min, drag.thumb + (by / RANGE_PX) * (max - min)))));
  }
}

customElements.define('lesson-control', LessonControl);
