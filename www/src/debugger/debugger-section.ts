// The scheduler debugger: a run step by step, and what each decision was taken on. It is fetched when it is first opened.
import { html, nothing, type TemplateResult } from 'lit';
import { live } from 'lit/directives/live.js';
import type { App } from '../app/app.js';
import { refused } from '../ui/belonging-words.js';
import { downloadText } from '../draw/export-chart.js';
import { LightElement } from '../app/element.js';
import { debuggerTexts } from '../i18n/en/debugger.js';
import { codesOf, type DebuggerStep, type StepText, type StepView } from '../simulation/types.js';
import type { Watchable } from '../lib/topic.js';
import { DebuggerState } from './debugger-state.js';
import type { StepKind } from './debugger-worker.js';
import { ganttOf } from './gantt.js';
import { adapterName, partsOfStep } from './step-parts.js';
import './debugger.css';

const KINDS = ['rejection', 'preemption', 'load', 'drafts', 'scaling', 'failure'] as const;

const NAMES: readonly string[] = ['request', 'other', 'adapter', 'user', 'replica'];

export class DebuggerSection extends LightElement {
  readonly #state: DebuggerState;
  #kind: StepKind = 'preemption';

  constructor(app: App) {
    super();
    this.app = app;
    this.#state = new DebuggerState(app);
    // All time charts mark the moment of the step.
    this.#state.answer.subscribe(({ step, state }) => {
      if (step === null || state !== 'ready') return;
      const arrived = this.#state.isLinked && step.view.step === app.step.value;
      if (arrived || this.contains(document.activeElement)) app.cursor.set({ time: step.view.time_s, chart: 'debugger' });
      if (arrived) void this.updateComplete.then(() => { this.scrollIntoView({ block: 'start' }); });
    });
  }

  protected override watched(): Watchable[] {
    return [this.#state.answer];
  }

  /** Nothing is simulated while the section is closed. */
  show(open: boolean): void {
    this.#state.look(open);
  }

  protected override render(): TemplateResult {
    const { text } = this.app;
    const say = text.say(debuggerTexts);
    const { state, progress, step, errors } = this.#state.answer.value;
    this.dataset['state'] = state;
    this.dataset['step'] = step === null ? '' : String(step.view.step);
    this.dataset['digest'] = step?.digest ?? '';
    return html`
      <p class="hint">${say('about')}</p>
      ${state === 'running' ? html`<p class="hint" role="status">${say('preparing', { share: text.format.share(progress) })}</p>` : nothing}
      ${state === 'other_requests' ? html`<p class="notice error" role="alert" data-code="other_requests">${say('other_requests')}</p>` : nothing}
      ${errors.length === 0 ? nothing : html`<p class="notice error" role="alert" data-code=${codesOf(errors)}>${text.diagnostics(errors)}</p>`}
      ${step === null ? nothing : html`${this.#toolbar(step)}${this.#decision(step)}
        <div class="step-parts">${partsOfStep(text, step.view)}</div>
        ${ganttOf(text, step, (way, number) => { this.#state.go(way, way === 'time' ? Math.min(number, step.end_s) : number); })}`}`;
  }

  #toolbar({ view, end_s, requests }: DebuggerStep): TemplateResult {
    const say = this.app.text.say(debuggerTexts);
    const state = this.#state;
    const last = view.steps - 1;
    const button = (action: string, label: string, run: () => void, off: boolean): TemplateResult =>
      html`<button type="button" data-action=${action} aria-disabled=${off} @click=${run}>${label}</button>`;
    return html`
      <div class="step-toolbar" role="group" aria-label=${say('toolbar')}>
        <div class="step-moves">
          ${button('first', say('first'), () => { state.go('to', 0); }, view.step === 0)}
          ${button('back', say('back'), () => { state.by(-1); }, view.step === 0)}
          ${button('forward', say('forward'), () => { state.by(1); }, view.step === last)}
          ${button('last', say('last'), () => { state.go('to', last); }, view.step === last)}
          <input type="range" name="step" aria-label=${say('step')} min="0" max=${last} .value=${live(String(state.target))}
            @input=${(event: Event) => { state.go('to', Number((event.target as HTMLInputElement).value)); }}>
        </div>
        <div class="step-moves">
          ${this.#field('time', say('time'), { value: view.time_s.toFixed(3), most: end_s, step: 'any' })}
          ${this.#field('request', say('request'), { value: String(this.app.view.value.selected?.id ?? view.candidate?.request ?? 0), most: requests - 1, step: '1' })}
          <label>${say('kind')} <select name="kind" @change=${(event: Event) => { this.#kind = (event.target as HTMLSelectElement).value as StepKind; }}>
            ${KINDS.map((kind) => html`<option value=${kind} ?selected=${kind === this.#kind}>${say(`kind.${kind}`)}</option>`)}</select></label>
          ${button('previous-kind', say('kind.previous'), () => { state.go('previous', 0, this.#kind); }, false)}
          ${button('next-kind', say('kind.next'), () => { state.go('next', 0, this.#kind); }, false)}
        </div>
      </div>`;
  }

  #field(way: 'time' | 'request', label: string, { value, most, step }: { value: string; most: number; step: string }): TemplateResult {
    const go = (event: Event): void => {
      event.preventDefault();
      const field = (event.target as HTMLFormElement).elements.namedItem(way) as HTMLInputElement;
      if (field.value !== '') this.#state.go(way, Number(field.value));
    };
    return html`<form novalidate data-go=${way} @submit=${go}><label>${label} <input type="number" name=${way} min="0" max=${most} step=${step} .value=${value}></label>
      <button type="submit">${this.app.text.say(debuggerTexts)('go')}</button></form>`;
  }

  #decision({ view }: DebuggerStep): TemplateResult {
    const { text } = this.app;
    const say = text.say(debuggerTexts);
    const { candidate, rule, replica } = view;
    const place = say('place', { step: text.format.whole(view.step), last: text.format.whole(view.steps - 1), time: text.format.fixed(view.time_s, 6) });
    return html`
      <div class="step-sentence" aria-live="polite" data-verdict=${view.verdict}>
        <p class="step-place">${place}${replica === null ? say('before_replica') : say('replica', { replica })}</p>
        <p class="step-verdict">${this.#sentence(view.sentence)} ${view.test === null ? nothing : this.#sentence(view.test.sentence)}</p>
        ${candidate === null ? nothing : html`<p>${say('candidate', {
          request: String(candidate.request), user: candidate.user, adapter: adapterName(text, candidate.adapter), arrival: text.format.fixed(candidate.arrival_s, 3),
          input: candidate.input_tokens, most: candidate.max_tokens,
        })} <button type="button" class="quiet" data-action="explain" @click=${() => { void this.app.select(candidate.request); }}>${say('show')}</button></p>`}
        <p>${say('rule')}<a data-rule=${rule.code} href=${docsPage(rule.doc)}>${text.ofModule(`rule.${rule.code}`) ?? rule.name}</a> · ${say('source')}<code>${rule.source}</code></p>
      </div>
      <p><button type="button" class="quiet" data-action="step-file" @click=${() => { this.#save(view); }}>${say('file')}</button></p>`;
  }

  /** What the terminal prints of the step. */
  #save(view: StepView): void {
    if (!refused(this.app)) downloadText(`servescope-step-${String(view.step)}.json`, `${JSON.stringify(view)}\n`, 'application/json');
  }

  /** The module says it in English. */
  #sentence({ code, params, text: english }: StepText): string {
    const { text } = this.app;
    const template = text.ofModule(`sentence.${code}`);
    if (template === undefined) return english;
    const { reason } = params;
    // A request has a number for a name, which is written without separators.
    const named = Object.fromEntries(Object.entries(params).map(([name, value]) => [name, NAMES.includes(name) ? String(value) : value]));
    return text.fill(template, typeof reason === 'string' ? { ...named, reason: text.outcome(reason) } : named);
  }
}

/** A page of the documentation, beside this one. */
function docsPage(file: string): string {
  return `./${file.replace(/\.md$/, '.html')}`;
}

export function debuggerSection(app: App): DebuggerSection {
  return new DebuggerSection(app);
}

customElements.define('debugger-section', DebuggerSection);
