// What is to be swept: a parameter with its values, one that has a curve for each of its values, metrics and seeds.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { inactiveReason } from '../controls/inactive.js';
import { CHAIN } from '../simulation/gateway-checks.js';
import { metricChoice } from '../compare/metric-choice.js';
import { sweep as words } from '../i18n/en/sweep.js';
import type { Parameter } from '../simulation/types.js';
import { usualAxis, usualCurves, type Axis, type Form, type Spacing } from './sweep-form.js';
import type { SweepState } from './sweep-state.js';
import { parameterName } from './sweep-words.js';

const SEEDS = [1, 3, 5, 10, 20, 50, 100];
const SPACINGS: readonly Spacing[] = ['linear', 'log', 'list'];
const RANGES: readonly Spacing[] = ['linear', 'log'];

const isNumber = ({ type }: Parameter): boolean => type === 'number' || type === 'integer';
/** Every value of these has a curve of its own. */
const hasCurves = (parameter: Parameter): boolean => isNumber(parameter) || parameter.type === 'choice' || parameter.type === 'boolean' || parameter.id === CHAIN;

export function sweepForm(state: SweepState): TemplateResult {
  const { app } = state;
  const say = app.text.say(words);
  const form = state.form.value;
  const change = (part: Partial<Form>): void => { state.form.update(part); };
  const present = (id: string): number => Number(app.store.resolved.values[id] ?? 0);
  const choose = (id: string, usual: typeof usualAxis, then: (axis: Axis | null) => void): void => {
    const parameter = app.parameters.get(id);
    then(parameter === undefined ? null : usual(parameter, present(id)));
  };
  return html`
    <form class="sweep-form" @submit=${(event: Event) => { event.preventDefault(); state.run(); }}>
      <fieldset class="sweep-row" data-axis="x">
        <label class="first">${say('x')} ${parameterChoice(app, isNumber, form.x.path, [form.y, form.by], null, (id) => { choose(id, usualAxis, (x) => { if (x !== null) change({ x }); }); })}</label>
        ${values(app, form.x, (part) => { change({ x: { ...form.x, ...part } }); })}
        ${inactive(app, form.x)}
      </fieldset>
      <fieldset class="sweep-row" data-axis="y">
        <label class="first">${say('y')} ${parameterChoice(app, isNumber, form.y?.path ?? '', [form.x, form.by], say('y.none'), (id) => { choose(id, usualAxis, (y) => { change({ y }); }); })}</label>
        ${form.y === null ? nothing : values(app, form.y, (part) => { if (form.y !== null) change({ y: { ...form.y, ...part } }); }, RANGES)}
        ${form.y === null ? nothing : inactive(app, form.y)}
      </fieldset>
      <fieldset class="sweep-row" data-axis="by">
        <label class="first">${form.y === null ? say('by') : say('by.map')} ${parameterChoice(app, hasCurves, form.by?.path ?? '', [form.x, form.y], say('by.none'), (id) => { choose(id, usualCurves, (by) => { change({ by }); }); })}</label>
        ${form.by === null ? nothing : curveValues(app, form.by, (list) => { if (form.by !== null) change({ by: { ...form.by, values: list } }); })}
        ${form.by === null ? nothing : inactive(app, form.by)}
      </fieldset>
      <div class="sweep-row">${metrics(app, form, change)}</div>
      <div class="sweep-row">
        <label>${say('seeds')} <select data-item="seeds" @change=${(event: Event) => { change({ seeds: Number((event.target as HTMLSelectElement).value) }); }}>
          ${[...new Set([...SEEDS, form.seeds])].sort((one, other) => one - other).map((count) => html`<option value=${count} .selected=${count === form.seeds}>${count}</option>`)}</select></label>
        <button type="submit" data-action="sweep" ?disabled=${form.metrics.length === 0}>${say('run')}</button>
      </div>
    </form>`;
}

function parameterChoice(app: App, fits: (parameter: Parameter) => boolean, chosen: string, others: readonly (Axis | null)[], none: string | null, choose: (id: string) => void): TemplateResult {
  const free = app.schema.parameters.filter((parameter) => fits(parameter) && parameter.group !== 'capacity' && parameter.id !== 'seed' && !others.some((other) => other?.path === parameter.id));
  return html`
    <select data-item="parameter" @change=${(event: Event) => { choose((event.target as HTMLSelectElement).value); }}>
      ${none === null ? nothing : html`<option value="" .selected=${chosen === ''}>${none}</option>`}
      ${app.schema.groups.map((group) => {
        const inGroup = free.filter((parameter) => parameter.group === group);
        return inGroup.length === 0 ? nothing : html`<optgroup label=${app.text.named('group.', group)}>
          ${inGroup.map((parameter) => html`<option value=${parameter.id} .selected=${parameter.id === chosen}>${app.text.label(parameter)}</option>`)}</optgroup>`;
      })}
    </select>`;
}

function values(app: App, axis: Axis, change: (part: Partial<Axis>) => void, spacings: readonly Spacing[] = SPACINGS): TemplateResult {
  const say = app.text.say(words);
  const field = (key: 'from' | 'to' | 'steps'): TemplateResult => html`
    <label>${say(key)} <input type="text" inputmode="decimal" autocomplete="off" data-item=${key} .value=${axis[key]} @change=${(event: Event) => { change({ [key]: valueOf(event) }); }}></label>`;
  const parameter = app.parameters.get(axis.path);
  const unit = app.text.unit(parameter?.unit ?? '');
  return html`
    <label>${say('spacing')} <select data-item="spacing" @change=${(event: Event) => { change({ spacing: valueOf(event) as Spacing }); }}>
      ${spacings.map((spacing) => html`<option value=${spacing} .selected=${spacing === axis.spacing}>${say(`spacing.${spacing}`)}</option>`)}</select></label>
    ${axis.spacing === 'list'
      ? html`<label class="wide">${say('list')} <input type="text" autocomplete="off" spellcheck="false" data-item="list" .value=${axis.values} @change=${(event: Event) => { change({ values: valueOf(event) }); }}></label>`
      : [field('from'), field('to'), field('steps')]}
    ${unit === '' ? nothing : html`<span class="sweep-note">${unit}</span>`}`;
}

/** The values of a choice are ticked, those of a number typed. */
function curveValues(app: App, { path, values: list }: Axis, change: (list: string) => void): TemplateResult {
  const say = app.text.say(words);
  const parameter = app.parameters.get(path);
  const options = parameter?.type === 'boolean' ? ['false', 'true'] : (parameter?.options ?? []);
  if (parameter === undefined || options.length === 0) {
    return html`<label class="wide">${say('list')} <input type="text" autocomplete="off" spellcheck="false" data-item="list" .value=${list} @change=${(event: Event) => { change(valueOf(event)); }}></label>`;
  }
  const ticked = list.split(',').map((value) => value.trim());
  const tick = (option: string): void => { change(options.filter((one) => ticked.includes(one) !== (one === option)).join()); };
  return html`<ul class="sweep-chips">${options.map((option) => html`
    <li><label><input type="checkbox" data-option=${option} .checked=${ticked.includes(option)} @change=${() => { tick(option); }}> ${app.text.value(parameter, option)}</label></li>`)}</ul>`;
}

function metrics(app: App, form: Form, change: (part: Partial<Form>) => void): TemplateResult {
  return html`<span class="first">${app.text.say(words)('metrics')}</span> ${metricChoice(app, form.metrics, (chosen) => { change({ metrics: chosen }); })}`;
}

function inactive(app: App, { path }: Axis): TemplateResult | typeof nothing {
  const parameter = app.parameters.get(path);
  if (parameter === undefined || inactiveReason(app, parameter) === null) return nothing;
  return html`<span class="sweep-note" data-inactive=${path}>${app.text.say(words)('inactive', { name: parameterName(app, path) })}</span>`;
}

function valueOf(event: Event): string {
  return (event.target as HTMLInputElement).value.trim();
}
