// What this is, on the first screen, and three ways in. Each is a story in place: a sentence, and the chart that shows it.
import { html, nothing, type TemplateResult } from 'lit';
import { LightElement } from '../element.js';
import { isWelcome, setWelcome } from '../state/settings.js';
import type { Watchable } from '../state/topic.js';

/** A way in: the preset that it takes and the chart to look at; one's own trace begins at the traffic source. */
const DOORS = [
  { name: 'burst', preset: 'burst', chart: 'running_waiting' },
  { name: 'long', preset: 'tail_prompt_budget', chart: 'ttft_by_arrival' },
  { name: 'own', preset: null, chart: null },
] as const;

type Door = (typeof DOORS)[number];

export class WelcomeDoors extends LightElement {
  static override properties = { ...LightElement.properties, chosen: { state: true }, closed: { state: true } };
  declare chosen: Door | null;
  declare closed: boolean;

  protected override watched(): Watchable[] {
    return [];
  }

  protected override render(): TemplateResult | typeof nothing {
    if (this.closed === true || !isWelcome()) return nothing;
    const { t } = this.app.text;
    const chosen = this.chosen ?? null;
    return html`
      <section class="welcome" aria-label=${t('welcome.label')}>
        <p class="what">${t('welcome.what')}</p>
        <div class="doors">${DOORS.map((door) => html`
          <button type="button" data-door=${door.name} aria-pressed=${chosen === door} @click=${() => { this.#enter(door); }}>${t(`welcome.${door.name}`)}</button>`)}
          <button type="button" class="quiet" data-door="close" @click=${() => { setWelcome(false); this.closed = true; }}>${t('notice.dismiss')}</button>
        </div>
        ${chosen === null ? nothing : html`<p class="door-story" role="status" data-story=${chosen.name}>${t(`welcome.${chosen.name}.story`)}
          ${chosen.chart === null
            ? html`<button type="button" class="act" data-door-next @click=${() => { this.app.show('plan'); }}>${t('tab.plan')}</button>`
            : html`<button type="button" class="act" data-door-next @click=${() => { reveal(`[data-chart="${chosen.chart}"]`); }}>${t('welcome.chart')}</button>`}</p>`}
      </section>`;
  }

  #enter(door: Door): void {
    this.chosen = door;
    if (door.preset === null) {
      this.app.showSource(true);
      return;
    }
    const preset = this.app.presets.find(({ id }) => id === door.preset);
    if (preset !== undefined) this.app.take(preset);
  }
}

function reveal(selector: string): void {
  const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
  document.querySelector(selector)?.scrollIntoView({ block: 'center', behavior: calm ? 'auto' : 'smooth' });
}

customElements.define('welcome-doors', WelcomeDoors);
