// The controls of a figure: sliders over a part of a parameter's range, and choices between settings.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { slider } from '../controls/slider.js';
import type { Parameter, ParameterValue } from '../simulation/types.js';
import { isChoice, type Choice, type Chosen, type Control, type Slide } from './essay.js';

interface Controls {
  app: App;
  /** Of their place in a document. */
  id: string;
  controls: readonly Control[];
  chosen: () => Chosen;
  first: Chosen;
  choose: (control: number, value: ParameterValue) => void;
}

export function figureControls(given: Controls): TemplateResult | typeof nothing {
  const { controls } = given;
  if (controls.length === 0) return nothing;
  return html`<div class="essay-controls">${controls.map((control, index) => (isChoice(control) ? choice(given, control, index) : slide(given, control, index)))}</div>`;
}

function slide({ app, chosen, first, choose }: Controls, { parameter: id, label, range }: Slide, index: number): TemplateResult | typeof nothing {
  const known = app.parameters.get(id);
  if (known === undefined) return nothing;
  const { text, stopwatch } = app;
  // Marks of the whole range have no room on a part of it.
  const parameter: Parameter = { ...known, marks: [] };
  const value = (): number => Number(chosen()[index]);
  return html`<div class="essay-control" data-parameter=${id}>
    <span class="name" aria-hidden="true">${label[text.language]}</span> <output aria-hidden="true">${text.value(parameter, value())}</output>
    ${slider({
      // What the page's own controls compare with stays.
      app: { text, stopwatch, touch: () => undefined },
      parameter, label: label[text.language], range, value: value(), now: value, disabled: false,
      set: (moved) => { choose(index, moved); },
      reset: () => { const [before] = [first[index]]; if (before !== undefined) choose(index, before); },
    })}</div>`;
}

function choice({ app, id, chosen, choose }: Controls, { label, cases }: Choice, index: number): TemplateResult {
  const { language } = app.text;
  const now = Number(chosen()[index]);
  return html`<fieldset class="essay-control" data-choice=${index}>
    <legend class="name">${label[language]}</legend>
    <div class="cases">${cases.map(({ name }, place) => html`<label><input type="radio" name="${id}-${String(index)}" value=${place} .checked=${place === now} @change=${() => { choose(index, place); }}><span>${name[language]}</span></label>`)}</div>
  </fieldset>`;
}
