// Parameters of the controls where a plan asks for them.
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import type { App } from '../app/app.js';
import '../controls/parameter-control.js';
import type { Parameter } from '../simulation/types.js';

/** Those that stand in no other place, with slider and help. */
export function controls(app: App, parameters: readonly Parameter[]): TemplateResult {
  return html`<div class="goal">${repeat(parameters, ({ id }) => id, (parameter) => html`<parameter-control .app=${app} .parameter=${parameter}></parameter-control>`)}</div>`;
}

/** One of the controls, shown a second time: a name and a box in a line. `name`: what it is called where its place says the rest; `said`: whether its place says all of it. */
export function planField(app: App, id: string, name?: string, said = false): TemplateResult | typeof nothing {
  const parameter = app.parameters.get(id);
  if (parameter === undefined) return nothing;
  const value = app.store.resolved.values[id] ?? parameter.default;
  const set = (event: Event): void => { app.editor.set(id, (event.target as HTMLInputElement).value); };
  const number = (event: Event): void => {
    const box = event.target as HTMLInputElement;
    const typed = Number(box.value);
    if (box.value.trim() !== '' && typed >= (parameter.min ?? -Infinity) && typed <= (parameter.max ?? Infinity)) app.editor.set(id, typed);
    else box.value = String(value);
  };
  const off = parameter.off_at_zero === true && value === 0;
  return html`<label class="plan-field" data-plan=${id}><span class=${said ? 'visually-hidden' : ''}>${name ?? app.text.label(parameter)}</span>
    ${parameter.type === 'choice'
      ? html`<select @change=${set}>${parameter.options.map((option) => html`<option value=${option} .selected=${option === value}>${app.text.choice(parameter, option)}</option>`)}</select>`
      : html`<input type="text" inputmode="decimal" autocomplete="off" .value=${String(value)} @change=${number}> <span>${off ? app.text.t('control.off') : app.text.unit(parameter.unit)}</span>`}</label>`;
}
