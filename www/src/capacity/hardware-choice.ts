// The model, and the GPUs and degrees of tensor parallelism to compare: several of one kind are an axis of the grid.
import { html, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { capacity } from '../i18n/en/capacity.js';
import { hasMeasuredKernels } from '../simulation/module.js';
import type { ScenarioPatch } from '../simulation/types.js';
import { gridText, parseGrid } from './grid.js';
import { planField } from './plan-field.js';

const GRID = 'capacity.grid';
const MODEL = 'fleet.model';
const GPU = 'fleet.gpu';
const PARALLEL = 'fleet.tensor_parallel';
const DEGREES = ['1', '2', '4', '8'];

export function hardwareChoice(app: App): TemplateResult {
  const say = app.text.say(capacity);
  if (app.store.resolved.values['cost.kind'] === 'linear') {
    return html`<p class="about">${say('hardware.none')}
      <button type="button" data-action="hardware" @click=${() => { app.editor.replace(withTimes({ ...app.store.values.value, 'scheduler.kind': 'vllm_v1' }), 'plan'); }}>${say('hardware.start')}</button></p>`;
  }
  return html`
    <p class="about">${say('hardware.about')}</p>
    <div class="goal">${planField(app, MODEL)}</div>
    ${chips(app, GPU, app.parameters.get(GPU)?.options ?? [])}
    ${chips(app, PARALLEL, DEGREES)}`;
}

/** Measured kernels where they exist, the roofline otherwise. */
function withTimes(values: ScenarioPatch): ScenarioPatch {
  return { ...values, 'cost.kind': hasMeasuredKernels(values) ? 'kernels' : 'roofline' };
}

/** One value is the setting itself, several are an axis. */
function chips(app: App, id: string, options: readonly string[]): TemplateResult {
  const parameter = app.parameters.get(id);
  const axes = parseGrid(String(app.store.resolved.values[GRID] ?? ''));
  const axis = axes.find((one) => one.id === id);
  const ticked = axis?.values.split(',').map((value) => value.trim()) ?? [String(app.store.resolved.values[id])];
  const tick = (option: string): void => {
    const next = options.filter((one) => ticked.includes(one) !== (one === option));
    const [first] = next;
    if (first === undefined) return;
    const others = axes.filter((one) => one.id !== id);
    const grid = gridText(next.length > 1 ? [...others, { id, values: next.join() }] : others);
    const value = parameter?.type === 'choice' ? first : Number(first);
    const values = { ...app.store.values.value, [id]: value, [GRID]: grid };
    // Of several, each without measured kernels takes the roofline's times by itself.
    const isKernels = app.store.resolved.values['cost.kind'] === 'kernels';
    app.editor.replace(isKernels && next.length === 1 ? withTimes(values) : values, 'plan');
  };
  return html`<fieldset class="plan-chips" data-plan=${id}><legend>${parameter === undefined ? id : app.text.label(parameter)}</legend>
    ${options.map((option) => html`<label><input type="checkbox" data-option=${option} .checked=${ticked.includes(option)} @change=${(event: Event) => {
      tick(option);
      // The last one that is ticked stays.
      (event.target as HTMLInputElement).checked = ticked.length === 1 && ticked[0] === option ? true : (event.target as HTMLInputElement).checked;
    }}> ${parameter?.type === 'choice' ? app.text.value(parameter, option) : option}</label>`)}</fieldset>`;
}
