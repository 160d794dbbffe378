// A parameter of the controls, shown a second time where a plan needs it: a box without slider and help.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';

export function planField(app: App, id: string): TemplateResult | typeof nothing {
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
  return html`<label class="plan-field" data-plan=${id}>${app.text.label(parameter)}
    ${parameter.type === 'choice'
      ? html`<select @change=${set}>${parameter.options.map((option) => html`<option value=${option} .selected=${option === value}>${app.text.choice(parameter, option)}</option>`)}</select>`
      : html`<span><input type="text" inputmode="decimal" autocomplete="off" .value=${String(value)} @change=${number}> ${off ? app.text.t('control.off') : app.text.unit(parameter.unit)}</span>`}</label>`;
}
