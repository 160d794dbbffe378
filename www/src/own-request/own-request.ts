// A request of the reader's own: sent into the run beside the others, and what became of it. It is fetched when it is first wanted.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { parseTyped } from '../controls/typed.js';
import { LightElement } from '../app/element.js';
import { ownRequest as words } from '../i18n/en/own_request.js';
import { pageError, type Diagnostic, type ParameterValue } from '../simulation/types.js';
import type { Edit } from '../state/store.js';
import { partsOf, type Watchable } from '../lib/topic.js';
import './own-request.css';

/** A drag goes on before this. */
const SETTLE_MS = 300;
/** The prompt that the form offers. */
const PROMPT = 1000;
const FIELDS = ['input_tokens', 'output_tokens', 'time_s', 'user', 'adapter'] as const;
type Field = (typeof FIELDS)[number];

const pathOf = (field: Field): string => `workload.extra_request.${field}`;

export class OwnRequest extends LightElement {
  static override properties = { ...LightElement.properties, problems: { state: true } };
  declare problems: readonly Diagnostic[] | undefined;
  /** What was typed and not sent. */
  readonly #typed = new Map<Field, string>();
  #settling: ReturnType<typeof setTimeout> | undefined;
  #forget = (): void => undefined;

  protected override watched(): Watchable[] {
    return [this.app.shown, partsOf(this.app.session, ({ answer }) => answer?.summary), partsOf(this.app.view, ({ selected }) => selected)];
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#forget = partsOf(this.app.session, ({ answer }) => answer?.summary).subscribe(() => { this.#openCard(); });
    this.#openCard();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearTimeout(this.#settling);
    this.#forget();
  }

  get #id(): number | null {
    const { answer } = this.app.session.value;
    return answer === null || answer.preview ? null : answer.summary.extra_request;
  }

  /** The card of the reader's request opens with its run. */
  #openCard(): void {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => {
      const id = this.#id;
      if (id !== null && this.app.view.value.selected === null) void this.app.select(id);
    }, SETTLE_MS);
  }

  protected override render(): TemplateResult {
    const say = this.app.text.say(words);
    const sent = Number(this.app.shown.value[pathOf('input_tokens')] ?? 0) > 0;
    return html`
      <p class="about">${say('about')}</p>
      <form class="own-request" novalidate @submit=${(event: Event) => { event.preventDefault(); this.#send(); }}>
        ${FIELDS.map((field) => this.#field(field))}
        <button type="submit" class="act" data-action="send">${say(sent ? 'send_again' : 'send')}</button>
        ${sent ? html`<button type="button" data-action="take-back" @click=${() => { this.#takeBack(); }}>${say('take_back')}</button>` : nothing}
      </form>
      ${(this.problems ?? []).map((failure) => html`<p class="notice error" role="alert" data-code=${failure.code}>${this.app.named(failure)}</p>`)}
      <div aria-live="polite">${this.#reported()}</div>`;
  }

  #field(field: Field): TemplateResult | typeof nothing {
    const { app } = this;
    const parameter = app.parameters.get(pathOf(field));
    if (parameter === undefined) return nothing;
    return html`<label data-parameter=${parameter.id}>${app.text.say(words)(field)} <input type="text" inputmode="decimal" autocomplete="off" name=${field} .value=${this.#typed.get(field) ?? String(this.#value(field))}
      @input=${(event: Event) => { this.#typed.set(field, (event.target as HTMLInputElement).value); }}></label>`;
  }

  #value(field: Field): ParameterValue {
    const value = this.app.store.resolved.values[pathOf(field)] ?? 0;
    return field === 'input_tokens' && value === 0 ? PROMPT : value;
  }

  #send(): void {
    const { app } = this;
    const edit: Record<string, ParameterValue> = {};
    const problems: Diagnostic[] = [];
    for (const field of FIELDS) {
      const path = pathOf(field);
      const parameter = app.parameters.get(path);
      if (parameter === undefined) continue;
      const typed = parseTyped(parameter, this.#typed.get(field) ?? String(this.#value(field)), false);
      if ('value' in typed) edit[path] = typed.value;
      else problems.push(pageError(typed.wrong, typed.wrong, path));
    }
    if (problems.length === 0) problems.push(...app.store.preview(edit).resolved.problems.filter(({ path }) => Object.hasOwn(edit, path)));
    this.problems = problems;
    if (problems.length > 0) return;
    this.#typed.clear();
    this.#edit(edit);
  }

  #takeBack(): void {
    this.problems = [];
    this.#edit(Object.fromEntries(FIELDS.map((field) => [pathOf(field), null])));
    void this.app.select(null);
  }

  #edit(edit: Edit): void {
    this.app.touch(`own request ${String(performance.now())}`);
    this.app.store.edit(edit, 'own request');
  }

  /** What became of it. */
  #reported(): TemplateResult | typeof nothing {
    const { app } = this;
    const id = this.#id;
    const { selected } = app.view.value;
    if (id === null || selected?.id !== id) return nothing;
    const say = app.text.say(words);
    const { format } = app.text;
    const { arrival_s, first_token_s, finish_s, outcome } = selected;
    const reported = outcome !== 'completed' || first_token_s === null || finish_s === null
      ? say('ended', { id: String(id), outcome: app.text.outcome(outcome) })
      : say('completed', { id: String(id), ttft: format.seconds(first_token_s - arrival_s), e2e: format.seconds(finish_s - arrival_s), ahead: selected.ahead, running: selected.running_at_arrival });
    return html`<p data-own=${id}>${reported}
      <button type="button" class="quiet" data-action="follow" @click=${() => { this.#follow(arrival_s); }}>${say('follow')}</button>
      <button type="button" class="quiet" data-action="card" @click=${() => { document.querySelector('request-card')?.scrollIntoView({ block: 'center' }); }}>${say('card')}</button></p>`;
  }

  /** The picture of the run plays from its arrival. */
  #follow(time: number): void {
    this.app.follow.set({ time });
    document.querySelector('station-line')?.scrollIntoView({ block: 'nearest' });
  }
}

export function ownRequest(app: App): OwnRequest {
  const element = new OwnRequest();
  element.app = app;
  return element;
}

customElements.define('own-request', OwnRequest);
