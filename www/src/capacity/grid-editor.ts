// The axes of the grid: a setting and the values to try, a row each.
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import { LightElement } from '../app/element.js';
import type { Parameter } from '../simulation/types.js';
import type { Watchable } from '../lib/topic.js';
import { gridText, parseGrid, type GridAxis } from './grid.js';
import { capacity } from '../i18n/en/capacity.js';

const GRID = 'capacity.grid';
/** A slider's range in this many values, where a number begins to be varied. */
const FIRST_VALUES = 3;

export class GridEditor extends LightElement {
  protected override watched(): Watchable[] {
    return [this.app.store.values];
  }

  get #axes(): GridAxis[] {
    return parseGrid(String(this.app.store.resolved.values[GRID] ?? ''));
  }

  protected override render(): TemplateResult {
    const { app } = this;
    const say = app.text.say(capacity);
    const axes = this.#axes;
    const free = app.schema.parameters.filter((parameter) => varies(parameter) && !axes.some(({ id }) => id === parameter.id));
    return html`
      <div class="axes">${repeat(axes, ({ id }) => id, (axis, place) => this.#axis(axis, place))}</div>
      <select class="add-axis" aria-label=${say('grid.add')} @change=${(event: Event) => { this.#added(event.target as HTMLSelectElement); }}>
        <option value="" selected>${say('grid.add')}</option>
        ${app.schema.groups.map((group) => {
          const inGroup = free.filter((parameter) => parameter.group === group);
          return inGroup.length === 0 ? nothing : html`<optgroup label=${app.text.named('group.', group)}>
            ${inGroup.map((parameter) => html`<option value=${parameter.id}>${app.text.label(parameter)}</option>`)}</optgroup>`;
        })}
      </select>`;
  }

  #axis({ id, values }: GridAxis, place: number): TemplateResult {
    const { app } = this;
    const say = app.text.say(capacity);
    const parameter = app.schema.parameters.find((other) => other.id === id);
    const name = parameter === undefined ? id : app.text.label(parameter);
    return html`
      <div class="axis" data-axis=${id}>
        <label for="axis-${place}">${name}</label>
        <input id="axis-${place}" type="text" autocomplete="off" spellcheck="false" .value=${values} title=${parameter?.options.join(', ') ?? ''}
          aria-label=${say('grid.values', { name })} @change=${(event: Event) => { this.#set(place, (event.target as HTMLInputElement).value); }}>
        <button type="button" class="quiet" aria-label=${say('grid.remove', { name })} title=${say('grid.remove', { name })}
          @click=${() => { this.#write(this.#axes.filter((_, other) => other !== place)); }}>×</button>
      </div>`;
  }

  #set(place: number, values: string): void {
    this.#write(this.#axes.map((axis, other) => (other === place ? { ...axis, values } : axis)));
  }

  #added(select: HTMLSelectElement): void {
    const parameter = this.app.schema.parameters.find(({ id }) => id === select.value);
    select.value = '';
    if (parameter !== undefined) this.#write([...this.#axes, { id: parameter.id, values: this.#firstValues(parameter) }]);
  }

  /** What to begin with: every option, or the present value and its doubles. */
  #firstValues(parameter: Parameter): string {
    if (parameter.type === 'choice') return parameter.options.join(',');
    if (parameter.type === 'boolean') return 'false,true';
    const present = Number(this.app.store.resolved.values[parameter.id] ?? parameter.default) || parameter.slider?.step || 1;
    const values = Array.from({ length: FIRST_VALUES }, (_, i) => present * 2 ** i);
    return values.filter((value) => value <= (parameter.max ?? Infinity)).join(',');
  }

  #write(axes: readonly GridAxis[]): void {
    this.app.editor.set(GRID, axes.length === 0 ? null : gridText(axes));
  }
}

/** Lists and texts have commas of their own. */
function varies({ type, group, id }: Parameter): boolean {
  return type !== 'list' && type !== 'text' && (group !== 'capacity' || id === 'capacity.usd_per_gpu_hour');
}

customElements.define('grid-editor', GridEditor);
