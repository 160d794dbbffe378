// Where the time of all requests went, and who delayed whom. The run is made once more with its decisions when this is opened.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { LightElement } from '../app/element.js';
import { why } from '../i18n/en/why.js';
import type { Delayed, Why, WhyGroup } from '../simulation/types.js';
import { OpenQuestion } from '../state/open-question.js';
import type { Watchable } from '../lib/topic.js';
import { causeOf } from './causes.js';
import { tryAgain } from '../ui/try-again.js';
import { shownOf, sum } from './groups.js';
import './why.css';

type By = 'user' | 'adapter';

export class WhySection extends LightElement {
  static override properties = { ...LightElement.properties, by: { state: true }, most: { state: true } };
  declare by: By;
  declare most: { name: string; requests: Delayed[] } | null;
  readonly #question: OpenQuestion<Why>;

  constructor(app: App) {
    super();
    this.app = app;
    this.by = 'user';
    this.most = null;
    this.#question = new OpenQuestion(app, () => app.ask({ kind: 'call', call: 'why', values: [] }) as Promise<Why>);
  }

  protected override watched(): Watchable[] {
    return [this.#question.view, this.#question.errors];
  }

  /** Nothing is simulated again while the section is closed. */
  show(open: boolean): void {
    this.#question.look(open);
  }

  protected override render(): TemplateResult {
    const say = this.app.text.say(why);
    const view = this.#question.view.value;
    const errors = this.#question.errors.value;
    return html`
      <p class="hint">${say('section.about')}</p>
      ${errors.length === 0 ? nothing : tryAgain(this.app, errors, () => { this.#question.again(); })}
      ${view === null ? errors.length > 0 ? nothing : html`<p class="hint" role="status">${say('computing')}</p>` : html`${this.#causes(view)}${this.#matrix(view)}`}`;
  }

  #causes({ causes }: Why): TemplateResult {
    const { format } = this.app.text;
    const say = this.app.text.say(why);
    const total = causes.reduce((sum, { seconds }) => sum + seconds, 0);
    const shown = causes.filter(({ seconds }) => seconds > 0).sort((one, other) => other.seconds - one.seconds);
    const widest = shown[0]?.seconds ?? 1;
    return html`<div class="who-scroll"><table class="causes-table">
      <caption>${say('causes.caption', { total: format.seconds(total) })}</caption>
      <thead><tr><th scope="col">${say('causes.cause')}</th><th scope="col">${say('causes.time')}</th><th scope="col">${say('causes.share')}</th><td></td></tr></thead>
      <tbody>${shown.map(({ cause, seconds }) => html`<tr data-cause=${cause} data-value=${seconds}>
        <th scope="row">${say(causeOf(cause))}</th><td>${format.seconds(seconds)}</td><td>${format.share(seconds / total)}</td>
        <td class="bar"><svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="face" data-cause=${cause} x="0" y="0" height="10" width=${(100 * seconds / widest).toFixed(2)}></rect></svg></td></tr>`)}</tbody>
    </table></div>`;
  }

  #matrix(view: Why): TemplateResult {
    const say = this.app.text.say(why);
    const groups = shownOf(this.by === 'user' ? view.users : view.adapters);
    const all = groups.map(({ delayed_by_s }) => sum(delayed_by_s));
    const most = Math.max(...groups.flatMap(({ delayed_by_s }) => delayed_by_s), 1e-9);
    return html`
      <div class="matrix-head"><h4>${say('matrix.title')}</h4>
        <label>${say('matrix.by')} <select name="why-by" .value=${this.by} @change=${(event: Event) => { this.#setBy((event.target as HTMLSelectElement).value); }}>
          <option value="user">${say('matrix.users')}</option><option value="adapter">${say('matrix.adapters')}</option></select></label></div>
      <div class="who-scroll" tabindex="0" role="group" aria-label=${say('matrix.caption')}><table class="matrix">
        <caption>${say('matrix.caption')}</caption>
        <thead><tr><th scope="col">${say('matrix.delayed')}</th>${groups.map((group) => html`<th scope="col">${this.#name(group)}</th>`)}
          <th scope="col">${say('matrix.no_request')}</th><th scope="col">${say('matrix.all')}</th></tr></thead>
        <tbody>${groups.map((group, row) => html`<tr><th scope="row">${this.#opens(group)}</th>
          ${group.delayed_by_s.map((seconds) => this.#cell(seconds, seconds / most))}${this.#cell(all[row] ?? 0, 0)}</tr>`)}</tbody>
      </table></div>
      ${this.#most()}`;
  }

  #cell(seconds: number, heat: number): TemplateResult {
    return html`<td data-value=${seconds} data-heat=${Math.ceil(4 * heat)}>${seconds > 0 ? this.app.text.format.seconds(seconds) : '–'}</td>`;
  }

  /** The name of a row; pressed, it lists the requests that were delayed most. */
  #opens(group: WhyGroup): TemplateResult {
    const name = this.#name(group);
    const { index } = group;
    if (index === null) return html`${name}`;
    return html`<button type="button" class="quiet" title=${this.app.text.say(why)('matrix.show', { name })} @click=${() => { void this.#list(name, index); }}>${name}</button>`;
  }

  #name({ index }: WhyGroup): string {
    const say = this.app.text.say(why);
    if (index === null) return say('matrix.others');
    if (index < 0) return say('matrix.base');
    return this.by === 'user' ? say('matrix.user', { index }) : say('matrix.adapter', { index });
  }

  #most(): TemplateResult | typeof nothing {
    if (this.most === null) return nothing;
    const { text } = this.app;
    const say = text.say(why);
    const { name, requests } = this.most;
    return html`<div class="most-delayed" aria-live="polite"><h4>${say('requests.title', { name })}</h4>
      <ul>${requests.map(({ id, delayed_s }) => html`<li><button type="button" data-request=${id} @click=${() => { void this.app.select(id); }}>${say('requests.one', { id: String(id), time: text.format.seconds(delayed_s) })}</button></li>`)}</ul></div>`;
  }

  #setBy(by: string): void {
    this.by = by === 'adapter' ? 'adapter' : 'user';
    this.most = null;
  }

  async #list(name: string, index: number): Promise<void> {
    const requests = await this.app.ask({ kind: 'call', call: 'most_delayed', values: [this.by, index] }) as Delayed[];
    this.most = { name, requests };
  }
}

export function whySection(app: App): WhySection {
  return new WhySection(app);
}

customElements.define('why-section', WhySection);
