// One sentence computed from the run: behind whom requests waited. The run is made once more with its decisions when nothing else is asked.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { LightElement } from '../app/element.js';
import { hero } from '../i18n/en/hero.js';
import type { Why } from '../simulation/types.js';
import { OpenQuestion } from '../state/open-question.js';
import { partsOf, type Watchable } from '../lib/topic.js';

/** Runs of more requests take longer to explain than a glance lasts. */
const MOST_REQUESTS = 5_000;
/** How long the settings have to rest, ms. */
const REST_MS = 500;
/** Less of the time of all requests is no waiting worth a sentence. */
const LEAST_SHARE = 0.01;
/** Behind more of the requests than this there is no request to show: all wait for all. */
const MANY = 0.5;
/** A prompt or an output counts as long where it is this many times the median. */
const LONG = 2;

type Waiting = Why['waiting'];

export class WaitingLine extends LightElement {
  #question: OpenQuestion<{ waiting: Waiting | null; of: unknown }> | null = null;

  protected override watched(): Watchable[] {
    this.#question ??= this.#ask(this.app);
    return [this.#question.view, partsOf(this.app.session, ({ answer }) => answer?.summary)];
  }

  #ask(app: App): OpenQuestion<{ waiting: Waiting | null; of: unknown }> {
    return new OpenQuestion<{ waiting: Waiting | null; of: unknown }>(app, async () => {
      let of = app.session.value.answer?.summary;
      // What is dragged is not explained on the way.
      for (let before: unknown = null; before !== of || app.session.value.state === 'running'; of = app.session.value.answer?.summary) {
        before = of;
        await new Promise((next) => { setTimeout(next, REST_MS); });
      }
      if (of === undefined || of.requests.offered > MOST_REQUESTS) return { waiting: null, of };
      const { waiting } = await app.ask({ kind: 'call', call: 'why', values: [] }) as Why;
      return { waiting, of };
    });
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#question?.look(true);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#question?.end();
  }

  protected override render(): TemplateResult {
    const view = this.#question?.view.value ?? null;
    // The place stays, so that nothing below it moves when the sentence comes.
    const summary = this.app.session.value.answer?.summary;
    if (summary !== undefined && summary.requests.offered > MOST_REQUESTS) return html`<p class="waiting-line">${this.app.text.say(hero)('waiting.long_run', { most: this.app.text.format.whole(MOST_REQUESTS) })}</p>`;
    if (view === null || view.waiting === null || view.of !== summary) return html`<p class="waiting-line">\u00a0</p>`;
    const { behind, seconds } = view.waiting;
    return html`<p class="waiting-line" data-waiting=${seconds}>${this.#sentence(view.waiting)}${behind === null || isMany(behind) || view.waiting.share < LEAST_SHARE ? nothing : html`
      <button type="button" class="quiet" data-action="follow" @click=${() => { void this.app.select(behind.first).then(() => { this.ownerDocument.querySelector('request-card')?.scrollIntoView({ block: 'center' }); }); }}>${this.app.text.say(hero)('waiting.show', { first: String(behind.first) })}</button>`}</p>`;
  }

  #sentence({ share, behind }: Waiting): string {
    const { app } = this;
    const { format } = app.text;
    const t = app.text.say(hero);
    if (share < LEAST_SHARE) return t('waiting.none');
    if (behind === null) return t('waiting.spread', { share: format.share(share) });
    if (isMany(behind)) return t('waiting.many', { requests: format.whole(behind.requests), all: format.whole(behind.of_all) });
    const first = String(behind.first);
    const said = behind.requests === 1 ? t('waiting.one', { first }) : t('waiting.some', { first, others: format.whole(behind.requests - 1), all: format.whole(behind.of_all) });
    const long = behind.input_tokens >= LONG * behind.all_input_tokens ? t('waiting.prompts', { tokens: format.whole(behind.input_tokens), all: format.whole(behind.all_input_tokens) })
      : behind.output_tokens >= LONG * behind.all_output_tokens ? t('waiting.outputs', { tokens: format.whole(behind.output_tokens), all: format.whole(behind.all_output_tokens) }) : '';
    return [said, long].filter((sentence) => sentence !== '').join(app.text.language === 'zh' ? '' : ' ');
  }
}

function isMany({ requests, of_all }: NonNullable<Waiting['behind']>): boolean {
  return requests > MANY * of_all;
}

customElements.define('waiting-line', WaitingLine);
