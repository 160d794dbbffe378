// What this is, on the first screen, and three ways in: two are lessons, the third begins with one's own trace and names the
// lesson on how far its result can be trusted.
import { html, nothing, type TemplateResult } from 'lit';
import { LightElement } from '../app/element.js';
import { isWelcome, setWelcome } from '../state/settings.js';
import type { Watchable } from '../lib/topic.js';

/** A way in and its lesson; one's own trace begins at the traffic source. */
const DOORS = [{ name: 'burst', lesson: 'burstiness' }, { name: 'long', lesson: 'long_prompt' }, { name: 'own', lesson: null }] as const;
const LESSON_OF_OWN = 'trust';

type Door = (typeof DOORS)[number];

export class WelcomeDoors extends LightElement {
  static override properties = { ...LightElement.properties, own: { state: true }, closed: { state: true } };
  declare own: boolean;
  declare closed: boolean;
  /** Until a file of the reader's is open. */
  #isEntering = false;
  #forget: () => void = () => undefined;

  protected override watched(): Watchable[] {
    return [];
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#forget = this.app.traceFile.info.subscribe((info) => {
      if (info === null || !this.#isEntering) return;
      this.#isEntering = false;
      // The numbers of the file stand below the traffic source, and on a phone behind the controls.
      this.app.showSource(false);
      requestAnimationFrame(() => { document.querySelector('headline-numbers .metric')?.scrollIntoView({ block: 'center' }); });
    });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#forget();
  }

  protected override render(): TemplateResult | typeof nothing {
    if (this.closed === true || !isWelcome()) return nothing;
    const { t } = this.app.text;
    const own = this.own === true;
    return html`
      <section class="welcome" aria-label=${t('welcome.label')}>
        <p class="what">${t('welcome.what')}</p>
        <div class="doors">${DOORS.map((door) => html`
          <button type="button" data-door=${door.name} @click=${() => { this.#enter(door); }}>${t(`welcome.${door.name}`)}</button>`)}
          <button type="button" class="quiet" data-door="close" @click=${() => { setWelcome(false); this.closed = true; }}>${t('notice.dismiss')}</button>
        </div>
        ${own ? html`<p class="door-story" role="status" data-story="own">${t('welcome.own.story')}
          <button type="button" class="act" data-door-next @click=${() => { this.app.show('plan'); }}>${t('tab.plan')}</button>
          <button type="button" class="act" data-door-lesson @click=${() => { this.app.learn({ id: LESSON_OF_OWN, screen: 1 }); }}>${t('welcome.own.lesson')}</button></p>` : nothing}
      </section>`;
  }

  #enter({ lesson }: Door): void {
    if (lesson !== null) {
      this.app.learn({ id: lesson, screen: 1 });
      return;
    }
    this.own = true;
    this.#isEntering = true;
    this.app.showSource(true);
  }
}

customElements.define('welcome-doors', WelcomeDoors);
