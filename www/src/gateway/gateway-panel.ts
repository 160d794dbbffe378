// The proxy in front of the engine as a chain of checks that can be switched and moved, each with its own controls and
// with what it did in the run that is shown; the rest of its settings follow in groups.
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import { onlyAtGateway } from '../controls/borrowed.js';
import { unmetOf } from '../controls/inactive.js';
import { LightElement } from '../app/element.js';
import type { Parameter, Summary } from '../simulation/types.js';
import { partsOf, type Watchable } from '../lib/topic.js';
import { arranged, CHAIN, CHECKS, moved, readChain, switched, writeChain, type Check } from '../simulation/gateway-checks.js';
import { gateway } from '../i18n/en/gateway.js';
import './gateway.css';

/** Rows by the check that reads them; a name that ends with a dot stands for all that begin with it. */
const OF_CHECK: Readonly<Record<Check, readonly string[]>> = {
  rpm: ['gateway.rpm'],
  tpm: ['gateway.tpm.', 'gateway.lending.'],
  concurrency: ['gateway.concurrency', 'gateway.client_concurrency'],
  queue: ['gateway.queue.'],
  kv: ['gateway.kv.'],
  ttft: ['gateway.ttft.'],
};

/** The other rows; what is named nowhere stands in the first group. */
const GROUPS = ['clients', 'wait', 'prediction', 'load', 'order', 'retries'] as const;
type Group = (typeof GROUPS)[number];
const OF_GROUP: Readonly<Record<Group, readonly string[]>> = {
  clients: ['gateway.client', 'gateway.window', 'gateway.burst_s', 'gateway.over_quota'],
  wait: ['gateway.queue_timeout_s', 'gateway.timeout.', 'gateway.sweep_ms'],
  prediction: ['gateway.predict.'],
  load: ['gateway.load.'],
  order: ['gateway.order'],
  retries: ['gateway.retry.'],
};

/** Which refusals are the work of which check. */
const REFUSAL: Readonly<Record<Check, string>> = {
  rpm: 'rate_limit', tpm: 'token_quota', concurrency: 'concurrency', queue: 'queue_full', kv: '', ttft: 'late_first_token',
};

const belongs = (names: readonly string[], id: string): boolean => names.some((name) => (name.endsWith('.') ? id.startsWith(name) : id === name));

export class GatewayPanel extends LightElement {
  #shown: readonly Check[] = CHECKS;
  #dragged: Check | null = null;
  readonly #opened = new Set<Group | Check>();

  protected override watched(): Watchable[] {
    return [this.app.store.values, this.app.editor.drafts, this.app.errors, partsOf(this.app.session, ({ answer }) => answer?.summary)];
  }

  protected override look(): string {
    const { app } = this;
    const marks = this.#parameters.map((parameter) => [this.#isActive(parameter), app.editor.isChanged(parameter.id), app.problem(parameter.id) !== undefined].map(Number).join(''));
    return [this.#on.join(), marks.join(''), JSON.stringify(this.#summary ?? null)].join(' ');
  }

  get #summary(): Summary['gateway'] | undefined {
    return this.app.session.value.answer?.summary.gateway;
  }

  get #on(): Check[] {
    return readChain(String(this.app.store.resolved.values[CHAIN] ?? ''));
  }

  get #parameters(): readonly Parameter[] {
    const { app } = this;
    return app.schema.parameters.filter((parameter) => (parameter.group === 'gateway' && parameter.id !== 'gateway.kind') || onlyAtGateway(app, parameter));
  }

  /** Settings of a kind that is not chosen are left out; what waits for a check or a bound stands there with its reason. */
  #isActive({ id }: Parameter): boolean {
    return id.startsWith('scheduler.') || unmetOf(this.app, id).every((condition) => !('in' in condition));
  }

  protected override render(): TemplateResult {
    const on = this.#on;
    this.#shown = arranged(this.#shown, on);
    const say = this.app.text.say(gateway);
    const parameters = this.#parameters;
    const placed = new Set(CHECKS.flatMap((check) => parameters.filter(({ id }) => belongs(OF_CHECK[check], id))));
    const rest = parameters.filter((parameter) => !placed.has(parameter) && parameter.id !== CHAIN);
    const groupOf = ({ id }: Parameter): Group => (id.startsWith('scheduler.') ? 'order' : (GROUPS.find((group) => belongs(OF_GROUP[group], id)) ?? 'clients'));
    return html`
      <p class="chain-about">${say('chain.about')}</p>
      <ol class="chain" aria-label=${say('chain.label')}>
        <li class="end">${say('chain.client')}</li>
        ${repeat(this.#shown, (check) => check, (check) => this.#card(check, on, parameters))}
        <li class="end">${say('chain.engine')}</li>
      </ol>
      <output class="visually-hidden chain-spoken" aria-live="polite"></output>
      ${this.#controls(parameters.filter(({ id }) => id === CHAIN))}
      ${GROUPS.map((group) => this.#group(group, rest.filter((parameter) => groupOf(parameter) === group)))}`;
  }

  #card(check: Check, on: readonly Check[], parameters: readonly Parameter[]): TemplateResult {
    const say = this.app.text.say(gateway);
    const place = on.indexOf(check);
    const name = say(`check.${check}`);
    const isOn = place >= 0;
    const own = parameters.filter((parameter) => belongs(OF_CHECK[check], parameter.id) && this.#isActive(parameter));
    return html`
      <li class="check" data-check=${check} data-on=${String(isOn)}
        @dragover=${(event: DragEvent) => { if (isOn && this.#dragged !== null) event.preventDefault(); }}
        @drop=${(event: DragEvent) => { event.preventDefault(); if (this.#dragged !== null) this.#move(this.#dragged, check); this.#dragged = null; }}>
        <div class="check-head" draggable=${isOn ? 'true' : 'false'} @dragstart=${(event: DragEvent) => { this.#drag(event, check); }} @dragend=${() => { this.#dragged = null; }}>
          <label><input type="checkbox" role="switch" .checked=${isOn} @change=${() => { this.#set(switched(this.#shown, on, check)); }}> <b>${name}</b></label>
          <button type="button" class="quiet earlier" ?disabled=${place <= 0} aria-label=${say('check.earlier', { check: name })} title=${say('check.earlier', { check: name })}
            @click=${() => { this.#step(check, -1); }}>↑</button>
          <button type="button" class="quiet later" ?disabled=${!isOn || place === on.length - 1} aria-label=${say('check.later', { check: name })} title=${say('check.later', { check: name })}
            @click=${() => { this.#step(check, 1); }}>↓</button>
        </div>
        <p class="check-count">${isOn ? this.#count(check) : say('check.off')}</p>
        <details class="check-settings" ?hidden=${!isOn} .open=${this.#isOpen(check, own)} @toggle=${(event: Event) => { this.#toggled(check, event); }}>
          <summary>${say('check.settings', { check: name })}</summary>
          ${this.#controls(own)}
        </details>
      </li>`;
  }

  /** What the check did in the run that is shown. */
  #count(check: Check): TemplateResult | typeof nothing {
    const summary = this.#summary;
    if (summary === undefined || summary === null) return nothing;
    const say = this.app.text.say(gateway);
    const { format } = this.app.text;
    const refused = summary.refusals[REFUSAL[check]] ?? 0;
    const held = summary.held[check] ?? 0;
    return html`<span class="of-run" data-refused=${refused} data-held=${held}>${say('check.count', { refused: format.whole(refused), held: format.whole(held) })}</span>`;
  }

  #group(group: Group, parameters: readonly Parameter[]): TemplateResult {
    const { app } = this;
    const say = app.text.say(gateway);
    const changed = parameters.some(({ id }) => app.editor.isChanged(id));
    const fair = group === 'order' && !parameters.some(({ id }) => id.startsWith('scheduler.')) && ['vtc', 'lcf', 'drr', 'priority'].includes(String(app.store.resolved.values['gateway.order']));
    return html`
      <details class="group gateway-group" data-group=${group} .open=${this.#isOpen(group, parameters)} @toggle=${(event: Event) => { this.#toggled(group, event); }}>
        <summary><h3>${say(`group.${group}` )}</h3><i class="dot" ?hidden=${!changed}></i></summary>
        ${this.#controls(parameters.filter((parameter) => this.#isActive(parameter)))}
        ${fair ? html`<p class="control-reason">${say('order.elsewhere')}</p>` : nothing}
      </details>`;
  }

  /** What is wrong is never out of sight. */
  #isOpen(what: Group | Check, parameters: readonly Parameter[]): boolean {
    return this.#opened.has(what) || parameters.some(({ id }) => this.app.problem(id) !== undefined);
  }

  #toggled(what: Group | Check, { target }: Event): void {
    if ((target as HTMLDetailsElement).open) this.#opened.add(what);
    else this.#opened.delete(what);
  }

  #controls(parameters: readonly Parameter[]): unknown {
    return repeat(parameters, ({ id }) => id, (parameter) => html`<parameter-control .app=${this.app} .parameter=${parameter}></parameter-control>`);
  }

  #drag(event: DragEvent, check: Check): void {
    this.#dragged = check;
    event.dataTransfer?.setData('text/plain', check);
  }

  #step(check: Check, by: 1 | -1): void {
    const on = this.#on;
    const target = on[on.indexOf(check) + by];
    if (target !== undefined) this.#move(check, target);
    // Moving a card takes the focus from its button.
    void this.updateComplete.then(() => {
      const card = this.querySelector(`[data-check="${check}"]`);
      const [first, second] = by < 0 ? ['.earlier', '.later'] : ['.later', '.earlier'];
      (card?.querySelector<HTMLElement>(`${first}:not(:disabled)`) ?? card?.querySelector<HTMLElement>(second))?.focus();
    });
  }

  #move(check: Check, target: Check): void {
    const next = moved(this.#on, check, target);
    this.#set(next);
    const spoken = this.querySelector('.chain-spoken');
    const say = this.app.text.say(gateway);
    if (spoken !== null) spoken.textContent = say('check.moved', { check: say(`check.${check}`), place: next.indexOf(check) + 1, of: next.length });
  }

  #set(checks: readonly Check[]): void {
    this.app.editor.set(CHAIN, writeChain(checks));
    this.requestUpdate();
  }
}

customElements.define('gateway-panel', GatewayPanel);
