// Where the time of one request went: a bar by cause, and its delays in words, each linked to its moment.
import { html, nothing, svg, type TemplateResult } from 'lit';
import { definition } from '../ui/definition.js';
import { LightElement } from '../app/element.js';
import { why } from '../i18n/en/why.js';
import type { Diagnostic, RequestDelay, RequestWhy } from '../simulation/types.js';
import { Refusal } from '../simulation/worker-link.js';
import { partsOf, type Watchable } from '../lib/topic.js';
import { tryAgain } from '../ui/try-again.js';
import { causeOf, isBeside } from './causes.js';
import './why.css';

const WIDTH = 400;
/** Delays that are named; shorter ones are counted. */
const NAMED = 5;
/** Of a request's time, so that rounding does not show up as a delay. */
const LEAST_SHARE = 0.005;
/** Around a delay, when the charts are zoomed to it. */
const MARGIN = 0.25;

export class RequestWhyView extends LightElement {
  static override properties = { ...LightElement.properties, reported: { state: true }, errors: { state: true } };
  declare reported: RequestWhy | null;
  /** Why the request that is shown has no explanation. */
  declare errors: readonly Diagnostic[] | undefined;
  #asked: unknown = null;

  protected override watched(): Watchable[] {
    return [partsOf(this.app.view, ({ selected }) => selected)];
  }

  protected override render(): TemplateResult | typeof nothing {
    const { selected } = this.app.view.value;
    if (selected === null) return nothing;
    if (this.#asked !== selected) {
      this.#asked = selected;
      void this.#ask(selected.id);
    }
    const reported = this.reported?.id === selected.id ? this.reported : null;
    if (this.errors !== undefined) return tryAgain(this.app, this.errors, () => { void this.#ask(selected.id); });
    return reported === null ? html`<p class="hint">${this.app.text.say(why)('computing')}</p>` : this.#card(reported);
  }

  async #ask(id: number): Promise<void> {
    const asked = this.#asked;
    this.errors = undefined;
    try {
      const reported = await this.app.ask({ kind: 'call', call: 'why_request', values: [id] }) as RequestWhy;
      if (this.#asked === asked) this.reported = reported;
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown;
      if (this.#asked === asked) this.errors = thrown.errors;
    }
  }

  #card({ total_s, delayed_s, cut_tokens, causes, delays }: RequestWhy): TemplateResult {
    const { format } = this.app.text;
    const say = this.app.text.say(why);
    const named = delays.filter(({ seconds }) => seconds >= LEAST_SHARE * total_s).slice(0, NAMED);
    const more = delays.length - named.length;
    const [total, own, delayed] = [total_s, total_s - delayed_s, delayed_s].map((value) => format.seconds(value)) as [string, string, string];
    let from = 0;
    const bars = causes.map(({ cause, seconds }) => {
      const width = (seconds / total_s) * WIDTH;
      from += width;
      return svg`<rect class="face" data-cause=${cause} x=${(from - width).toFixed(2)} y="0" height="16" width=${width.toFixed(2)}/>`;
    });
    return html`
      <p class="why" data-cause=${named[0]?.cause ?? 'none'}>${named.length === 0 ? say('took_alone', { total }) : say('took', { total, own, delayed })}</p>
      ${cut_tokens > 0 ? html`<p class="why" data-cut>${say('cut', { tokens: cut_tokens })}</p>` : nothing}
      ${total_s > 0 ? html`<svg class="split-bar" viewBox="0 0 ${WIDTH} 16" preserveAspectRatio="none" aria-hidden="true">${bars}</svg>` : nothing}
      <ul class="delays">${named.map((delay, place) => this.#delay(delay, place))}</ul>
      ${named.length > 0 && more > 0 ? html`<p class="hint">${say('more', { count: more })}</p>` : nothing}
      <dl class="split causes">${causes.filter(({ seconds }) => seconds >= LEAST_SHARE * total_s).map(({ cause, seconds }) => html`
        <div><dt data-cause=${cause}>${say(causeOf(cause))}</dt><dd>${format.seconds(seconds)}</dd></div>`)}</dl>`;
  }

  #delay(delay: RequestDelay, place: number): TemplateResult {
    const { text } = this.app;
    const { cause, seconds, at_s } = delay;
    const template = text.find(why, `delay.${cause}`) ?? cause;
    const values = { time: text.format.seconds(seconds), whom: this.#whom(delay), numbers: this.#numbers(delay) };
    return html`<li data-cause=${cause}>${text.fill(template, values)}
      <button type="button" class="quiet at" title=${text.say(why)('at.title')} aria-label=${`${text.say(why)('at', { time: text.format.seconds(at_s) })}: ${text.say(why)('at.title')}`} @click=${() => { this.#show(delay); }}>${text.say(why)('at', { time: text.format.seconds(at_s) })}</button>
      ${this.#holders(delay, place)}</li>`;
  }

  /** The requests that held most of what was waited for, each with its card. */
  #holders({ behind }: RequestDelay, place: number): TemplateResult | typeof nothing {
    if (behind === null) return nothing;
    const { text } = this.app;
    const say = text.say(why);
    return html`<span class="holders">${definition(`held-${String(place)}`, say('held'), say('held.title'))} ${behind.most.map(({ id, user, share }) => html`
      <button type="button" class="quiet" data-request=${id} aria-label=${say('held.show', { id: String(id), user })} title=${say('held.show', { id: String(id), user })} @click=${() => { void this.app.select(id); }}>${say('held.one', { id: String(id), share: text.format.share(share) })}</button>`)}</span>`;
  }

  #whom({ cause, behind }: RequestDelay): string {
    if (behind === null) return '';
    const others = behind.of_all - behind.requests;
    const values = { requests: behind.requests, user: behind.user, others, share: this.app.text.format.share(behind.share) };
    const say = this.app.text.say(why);
    if (isBeside(cause)) return others > 0 ? say('beside_and', values) : say('beside', values);
    return others > 0 ? say('whom_and', values) : say('whom', values);
  }

  #numbers({ need, have }: RequestDelay): string {
    return need === null || have === null ? '' : this.app.text.say(why)('numbers', { need, have });
  }

  #show({ at_s, seconds }: RequestDelay): void {
    const margin = Math.max(MARGIN * seconds, 0.05);
    void this.app.look({ window: [Math.max(0, at_s - margin), at_s + seconds + margin] });
  }
}

customElements.define('request-why', RequestWhyView);
