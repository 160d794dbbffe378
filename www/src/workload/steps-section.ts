// The pipeline: steps that change the sources, each with its fields and what it did. A change is carried out at once.
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import { LightElement } from '../app/element.js';
import type { StepKind, StepKinds, StepNote } from '../simulation/types.js';
import type { Watchable } from '../lib/topic.js';
import { stepFields } from './step-fields.js';
import { draftOf, parseStep, textOf, type StepDraft } from './steps.js';
import type { Say } from '../i18n/area.js';
import { workload } from '../i18n/en/workload.js';
import { factWords, refusalWords, stepHelp, stepLabel } from './step-texts.js';

export class StepsSection extends LightElement {
  static override properties = { ...LightElement.properties, kinds: { state: true } };
  declare kinds: StepKinds | undefined;

  protected override watched(): Watchable[] {
    const { pipe, notes, refusal, sources } = this.app.traceFile;
    return [pipe, notes, refusal, sources];
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.app.traceFile.studio().then((studio) => studio.call('kinds', null)).then((kinds) => { this.kinds = kinds; });
  }

  protected override render(): TemplateResult | typeof nothing {
    const { app, kinds } = this;
    if (kinds === undefined) return nothing;
    const say = app.text.say(workload);
    const { pipe, notes, refusal, sources } = app.traceFile;
    const several = sources.value.length > 1;
    const { steps } = pipe.value;
    const reported = several ? notes.value.slice(1) : notes.value;
    const homeless = refusal.value;
    return html`
      <p class="about" ?hidden=${sources.value.length > 0}>${say('steps.needs_file')}</p>
      ${several ? this.#join(kinds, say, notes.value[0]) : nothing}
      <ol class="steps">${repeat(steps, (_, place) => place, (text, place) => this.#step(kinds, say, text, place, reported[place]))}</ol>
      <p class="about" ?hidden=${steps.length > 0 || sources.value.length === 0}>${say('steps.none')}</p>
      <p class="control-error" role="alert" ?hidden=${homeless === null || /^(join|steps\.)/.test(homeless.path)}>${homeless === null ? nothing : refusalWords(app, homeless)}</p>
      <select class="add-step" aria-label=${say('steps.add')} @change=${this.#added}>
        <option value="" selected>${say('steps.add')}</option>
        ${kinds.steps.map((kind) => html`<option value=${kind.name} title=${stepHelp(app, kind)}>${stepLabel(app, kind.name)}</option>`)}
      </select>
      ${sources.value.length === 0 || this.#command() === null ? nothing : html`<p class="about">${say('steps.command')}: <code>${this.#command()}</code></p>`}`;
  }

  #join(kinds: StepKinds, say: Say<typeof workload>, note: StepNote | undefined): TemplateResult | typeof nothing {
    const { app } = this;
    const { pipe, refusal } = app.traceFile;
    const draft = parseStep(pipe.value.join, kinds.joins);
    const kind = kinds.joins.find(({ name }) => name === draft?.name);
    if (draft === null || kind === undefined) return nothing;
    const set = (join: string): void => { void app.traceFile.reshape({ ...pipe.value, join }); };
    return html`
      <div class="step" data-step="join">
        <div class="step-head"><label for="join-kind">${say('source.join')}</label>
          <select id="join-kind" @change=${(event: Event) => { set((event.target as HTMLSelectElement).value); }}>
            ${kinds.joins.map(({ name }) => html`<option value=${name} .selected=${name === kind.name}>${stepLabel(app, name)}</option>`)}</select>
          <small>${stepHelp(app, kind)}</small></div>
        ${stepFields({ app, say, at: 'join', kind, draft, refusal: refusal.value, change: (values) => { set(textOf({ ...draft, values }, kind)); } })}
        ${this.#note(say, note)}
      </div>`;
  }

  #step(kinds: StepKinds, say: Say<typeof workload>, text: string, place: number, note: StepNote | undefined): TemplateResult {
    const { app } = this;
    const { pipe, refusal } = app.traceFile;
    const draft = parseStep(text, kinds.steps);
    const kind = kinds.steps.find(({ name }) => name === draft?.name);
    const { steps } = pipe.value;
    const label = draft === null ? text : stepLabel(app, draft.name);
    const tool = (key: 'steps.up' | 'steps.down' | 'steps.remove', sign: string, disabled: boolean, act: () => void): TemplateResult => html`
      <button type="button" class="quiet" data-tool=${key.replace('steps.', '')} ?disabled=${disabled} aria-label=${say(key, { step: label })} title=${say(key, { step: label })} @click=${act}>${sign}</button>`;
    return html`
      <li class="step" data-step=${draft?.name ?? ''}>
        <div class="step-head"><b>${label}</b> <small>${kind === undefined ? nothing : stepHelp(app, kind)}</small>
          <div class="step-tools">
            ${tool('steps.up', '↑', place === 0, () => { this.#set(swapped(steps, place - 1)); })}
            ${tool('steps.down', '↓', place === steps.length - 1, () => { this.#set(swapped(steps, place)); })}
            ${tool('steps.remove', '×', false, () => { this.#set(steps.filter((_, other) => other !== place)); })}
          </div></div>
        ${draft === null || kind === undefined
          ? html`<p class="control-error" role="alert">${refusal.value === null ? nothing : refusalWords(app, refusal.value)}</p>`
          : stepFields({ app, say, at: `steps.${String(place)}`, kind, draft, refusal: refusal.value, change: (values) => { this.#change(place, { ...draft, values }, kind); } })}
        ${this.#note(say, note)}
      </li>`;
  }

  #note(say: Say<typeof workload>, note: StepNote | undefined): TemplateResult | typeof nothing {
    if (note === undefined) return nothing;
    const { format } = this.app.text;
    const { before, after, facts } = note;
    const number = (value: number | null): string => format.of('number', value);
    const changes = [
      before.requests === after.requests ? '' : say('steps.requests', { before: before.requests, after: after.requests }),
      before.rate_rps === after.rate_rps ? '' : say('steps.rate', { before: number(before.rate_rps), after: number(after.rate_rps) }),
      before.gap_cv === after.gap_cv ? '' : say('steps.cv', { before: number(before.gap_cv), after: number(after.gap_cv) }),
    ].filter((change) => change !== '');
    return html`<p class="step-note">${changes.join(' · ')}${facts.map((fact) => html`<br>${factWords(this.app, fact)}`)}</p>`;
  }

  readonly #added = (event: Event): void => {
    const select = event.target as HTMLSelectElement;
    const kind = this.kinds?.steps.find(({ name }) => name === select.value);
    select.value = '';
    if (kind !== undefined) this.#set([...this.app.traceFile.pipe.value.steps, textOf(draftOf(kind), kind)]);
  };

  #change(place: number, draft: StepDraft, kind: StepKind): void {
    this.#set(this.app.traceFile.pipe.value.steps.map((text, other) => (other === place ? textOf(draft, kind) : text)));
  }

  #set(steps: readonly string[]): void {
    const { traceFile } = this.app;
    void traceFile.reshape({ ...traceFile.pipe.value, steps });
  }

  /** The verb that does the same with the files; none where a source is no file. */
  #command(): string | null {
    const { sources, pipe, readings } = this.app.traceFile;
    if (sources.value.some(({ format }) => format === '')) return null;
    const [name = '', fields = ''] = pipe.value.join.split(':');
    const value = /=([^,]+)/.exec(fields)?.[1];
    const verbs: Readonly<Record<string, string[]>> = {
      concat: ['concat', ...(value === undefined ? [] : [`--gap ${value}`])], merge: ['merge'], superpose: ['merge', `--offset ${value ?? '0'}`],
    };
    const [verb = 'convert', ...options] = sources.value.length > 1 ? (verbs[name] ?? []) : ['convert'];
    const mapping = readings.find((reading) => reading.mapping !== '')?.mapping;
    if (mapping !== undefined) options.push(`--map ${quoted(mapping)}`);
    if (readings.some(({ leaveOut }) => leaveOut)) options.push('--skip-bad-rows');
    const any = readings.find((reading) => reading.anyOutput > 0)?.anyOutput;
    if (any !== undefined) options.push(`--any-completion-len ${String(any)}`);
    options.push(...pipe.value.steps.map((step) => `--step ${quoted(step)}`));
    return [`servescope ${verb}`, ...sources.value.map((source) => quoted(source.name)), ...options, '--to servescope -o out.csv'].join(' ');
  }
}

function quoted(word: string): string {
  return /^[\w.:=,/-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** With the step at `place` and the one after it in each other's places. */
function swapped(steps: readonly string[], place: number): string[] {
  const moved = [...steps];
  const [one] = moved.splice(place, 1);
  if (one !== undefined) moved.splice(place + 1, 0, one);
  return moved;
}

customElements.define('steps-section', StepsSection);
