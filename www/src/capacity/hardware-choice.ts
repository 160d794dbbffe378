// The GPUs and the degrees of tensor parallelism to compare: axes of the grid. Where nothing was chosen, the GPUs that the search
// begins with are ticked.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { capacity } from '../i18n/en/capacity.js';
import { hasMeasuredKernels } from '../simulation/module.js';
import type { CapacityState } from './capacity-state.js';
import { gridText, parseGrid } from './grid.js';

const GRID = 'capacity.grid';
const GPU = 'fleet.gpu';
const PARALLEL = 'fleet.tensor_parallel';
/** What an hour of a GPU costs. */
export const PRICES = ['capacity.price_kind', 'capacity.usd_per_gpu_hour'];
const DEGREES = ['1', '2', '4', '8'];
/** More names than this are counted, not listed. */
const LISTED = 4;

/** Whether iteration times are of one server, which names no GPU and no model. */
export function isOfOneServer(app: App): boolean {
  return app.store.resolved.values['cost.kind'] === 'linear';
}

/** Leads to iteration times that are of GPUs and models: measured kernels where they exist, the roofline otherwise. */
export function hardwareStart(app: App): TemplateResult {
  const say = app.text.say(capacity);
  const start = (): void => {
    const values = { ...app.store.values.value, 'scheduler.kind': 'vllm_v1' };
    app.editor.replace({ ...values, 'cost.kind': hasMeasuredKernels(values) ? 'kernels' : 'roofline' }, 'plan');
  };
  return html`${say('hardware.none')} <button type="button" data-action="hardware" @click=${start}>${say('hardware.start')}</button>`;
}

/** Which are compared, in a line. */
export function comparedGpus(app: App, search: CapacityState): string {
  const say = app.text.say(capacity);
  const [gpus, degrees] = [GPU, PARALLEL].map((id) => valuesOf(app, search, id).map((value) => nameOf(app, id, value))) as [string[], string[]];
  const listed = gpus.length > LISTED ? say('hardware.more', { gpus: app.text.list(gpus.slice(0, LISTED)), more: gpus.length - LISTED }) : app.text.list(gpus);
  return say('hardware.compared', { gpus: listed, degrees: app.text.list(degrees) });
}

export function hardwareChoice(app: App, search: CapacityState): TemplateResult {
  const say = app.text.say(capacity);
  return html`
    <p class="about">${say(search.isChosen ? 'hardware.chosen' : !hasAxis(search, GPU) ? 'hardware.splits' : app.store.resolved.values['cost.kind'] === 'roofline' ? 'hardware.suggested_roofline' : 'hardware.suggested')}
      ${search.isChosen ? html`<button type="button" class="quiet" data-action="suggest" @click=${() => { suggest(app, search); }}>${say('hardware.suggest')}</button>` : nothing}</p>
    ${chips(app, search, GPU, app.parameters.get(GPU)?.options ?? [])}
    ${chips(app, search, PARALLEL, DEGREES)}`;
}

function hasAxis(search: CapacityState, id: string): boolean {
  return parseGrid(search.grid).some((axis) => axis.id === id);
}

/** Takes the choice of GPUs back; other axes stay. */
function suggest(app: App, search: CapacityState): void {
  const others = parseGrid(search.grid).filter(({ id }) => id !== GPU && id !== PARALLEL);
  app.editor.set(GRID, others.length === 0 ? null : gridText([...parseGrid(search.usualGrid), ...others]));
}

/** Those of the axis, or the one that the scenario has. */
function valuesOf(app: App, search: CapacityState, id: string): readonly string[] {
  const axis = parseGrid(search.grid).find((one) => one.id === id);
  return axis?.values.split(',').map((value) => value.trim()) ?? [String(app.store.resolved.values[id])];
}

function nameOf(app: App, id: string, option: string): string {
  const parameter = app.parameters.get(id);
  return parameter?.type === 'choice' ? app.text.value(parameter, option) : option;
}

/** A tick changes what is compared, and leaves the scenario's own GPU as it is. */
function chips(app: App, search: CapacityState, id: string, options: readonly string[]): TemplateResult {
  const parameter = app.parameters.get(id);
  const ticked = valuesOf(app, search, id);
  const tick = (option: string): void => {
    const next = options.filter((one) => ticked.includes(one) !== (one === option));
    if (next.length === 0) return;
    const axes = parseGrid(search.grid);
    const axis = { id, values: next.join() };
    app.editor.set(GRID, gridText(axes.some((one) => one.id === id) ? axes.map((one) => (one.id === id ? axis : one)) : [...axes, axis]));
  };
  return html`<fieldset class="plan-chips" data-plan=${id}><legend>${parameter === undefined ? id : app.text.label(parameter)}</legend>
    ${options.map((option) => html`<label><input type="checkbox" data-option=${option} .checked=${ticked.includes(option)} @change=${(event: Event) => {
      tick(option);
      // The last one that is ticked stays.
      if (ticked.length === 1 && ticked[0] === option) (event.target as HTMLInputElement).checked = true;
    }}> ${nameOf(app, id, option)}</label>`)}</fieldset>`;
}
