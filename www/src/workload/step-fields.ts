// The fields of one step, made from the table of steps.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import type { Diagnostic, StepField, StepKind } from '../simulation/types.js';
import type { Say } from '../i18n/area.js';
import { type workload } from '../i18n/en/workload.js';
import { fieldWords, refusalWords } from './step-texts.js';
import type { StepDraft } from './steps.js';

interface Shown { app: App; say: Say<typeof workload>; at: string; kind: StepKind; draft: StepDraft; refusal: Diagnostic | null; change: (values: StepDraft['values']) => void }

export function stepFields({ app, at, kind, draft, refusal, change }: Shown): TemplateResult {
  const set = (name: string, value: string): void => { change({ ...draft.values, [name]: value }); };
  return html`<div class="fields">${kind.fields.map((field) => {
    const id = `${at}.${field.name}`.replaceAll('.', '-');
    const wrong = refusal?.path === `${at}.${field.name}` ? refusal : null;
    return html`
      <div class="field" data-field="${at}.${field.name}">
        <label for=${id}>${fieldWords(app, kind.name, field)}</label>
        ${input(app, field, id, draft.values[field.name] ?? field.default, (value) => { set(field.name, value); })}
        <small class="unit">${field.unit === '' ? nothing : app.text.unit(field.unit)}</small>
        <p class="control-error" role="alert" data-code=${wrong?.code ?? ''} ?hidden=${wrong === null}>${wrong === null ? nothing : refusalWords(app, wrong)}</p>
      </div>`;
  })}</div>
  ${refusal !== null && refusal.path === at ? html`<p class="control-error" role="alert">${refusalWords(app, refusal)}</p>` : nothing}`;
}

function input(app: App, field: StepField, id: string, value: string, set: (value: string) => void): TemplateResult {
  const changed = (event: Event): void => { set((event.target as HTMLInputElement | HTMLSelectElement).value); };
  if (field.kind === 'choice') {
    return html`<select id=${id} @change=${changed}>${field.options.map((option) => html`
      <option value=${option} .selected=${option === value}>${app.text.option(option)}</option>`)}</select>`;
  }
  // Not a number box: an empty one means something here, and the module says what is wrong with the rest.
  return html`<input id=${id} type="text" inputmode=${field.kind === 'text' ? 'text' : 'decimal'} autocomplete="off" .value=${value}
    placeholder=${field.optional ? '–' : ''} @input=${changed}>`;
}
