// What this is, on the first screen, and two doors: to the essay, and to a plan; beside them the box for what people bring.
import { html, nothing, type TemplateResult } from 'lit';
import { LightElement } from '../app/element.js';
import { part } from '../lib/part.js';
import { ESSAY } from '../state/lesson-place.js';
import { isWelcome, setWelcome } from '../state/settings.js';
import type { Watchable } from '../lib/topic.js';

const DOORS = ['understand', 'plan', 'paste'] as const;

type Door = (typeof DOORS)[number];

export class WelcomeDoors extends LightElement {
  static override properties = { ...LightElement.properties, closed: { state: true } };
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
      // The numbers of the file stand below the picture, and on a phone behind the controls.
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
    return html`
      <section class="welcome" aria-label=${t('welcome.label')}>
        <p class="what">${t('welcome.what')}</p>
        <div class="doors">${DOORS.map((door) => html`
          <button type="button" data-door=${door} @click=${() => { this.#enter(door); }}>${t(`welcome.${door}`)}</button>`)}
          <button type="button" class="quiet" data-door="close" @click=${() => { setWelcome(false); this.closed = true; }}>${t('notice.dismiss')}</button>
        </div>
      </section>`;
  }

  #enter(door: Door): void {
    switch (door) {
      case 'understand': this.app.learn({ id: ESSAY, screen: 1 }); break;
      case 'plan': this.app.show('plan'); break;
      case 'paste':
        this.#isEntering = true;
        void part(() => import('../files/open-dialog.js')).then(({ showOpening }) => showOpening(this.app));
    }
  }
}

customElements.define('welcome-doors', WelcomeDoors);
