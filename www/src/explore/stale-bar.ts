// The bar above the results while they are of other settings than those in the controls: why, and how to go on.
import { chooseFiles } from '../files/file-door.js';
import { html, nothing, type TemplateResult } from 'lit';
import { reason, shownInstead } from '../ui/belonging-words.js';
import { LightElement } from '../app/element.js';
import { codesOf, NEEDS_NETWORK } from '../simulation/types.js';
import type { Stale } from '../state/belonging.js';
import { partsOf, type Watchable } from '../lib/topic.js';
import { reveal } from '../ui/reveal.js';

/** What another try may mend, with the settings as they are. */
const PASSING = [...NEEDS_NETWORK, 'internal'];

export class StaleBar extends LightElement {
  protected override watched(): Watchable[] {
    const { belonging, editor, session } = this.app;
    return [belonging.stale, editor.history.reach, partsOf(session, ({ state }) => state)];
  }

  /** While the result is that of the settings there is nothing to show, whatever runs. */
  protected override look(): string | undefined {
    return this.app.belonging.stale.value === null ? '' : undefined;
  }

  protected override render(): TemplateResult {
    const stale = this.app.belonging.stale.value;
    this.classList.toggle('stale', stale !== null);
    return html`
      <div class="stale-why" role="status" data-code=${codesOf(stale?.errors ?? [])}>${stale === null ? nothing : html`
        <p><b>${reason(this.app)}</b></p> <p>${shownInstead(this.app)}</p>`}</div>
      ${stale === null ? nothing : html`<div class="choices">${this.#choices(stale)}</div>`}`;
  }

  #choices({ reason: why, errors, shown }: Stale): unknown {
    const { app } = this;
    const { t } = app.text;
    const [control] = errors.flatMap(({ path }) => app.parameters.get(path) ?? []);
    const again = why === 'cancelled' || errors.some(({ code }) => PASSING.includes(code));
    const restorable = shown !== null && (shown.traffic.info === null || shown.traffic.files.length > 0 || shown.traffic.info === app.traceFile.info.value);
    return [
      control === undefined ? nothing : this.#choice('control', t('stale.control', { name: app.text.label(control) }), () => { reveal(app, control); }),
      why === 'file' ? this.#choice('open', t('stale.open'), chooseFiles) : nothing,
      why === 'file' ? this.#choice('without', t('stale.without'), () => { app.withoutFile(); }) : nothing,
      why !== 'file' && again ? this.#choice('run', t('stale.run'), () => { app.run(); }) : nothing,
      restorable ? this.#choice('back', t('stale.back'), () => { void app.back(); }) : nothing,
      app.editor.history.reach.value.undo && app.editor.drafts.value.size === 0 ? this.#choice('undo', t('menu.undo'), () => { app.editor.undo(); }) : nothing,
      shown === null && why === 'failed' ? this.#choice('reset', t('menu.reset_all'), () => { app.editor.replace({}, 'reset'); }) : nothing,
    ];
  }

  #choice(action: 'control' | 'open' | 'without' | 'run' | 'back' | 'undo' | 'reset', label: string, act: () => void): TemplateResult {
    return html`<button type="button" data-action=${action} ?disabled=${action === 'run' && this.app.session.value.state === 'running'} @click=${act}>${label}</button>`;
  }
}

customElements.define('stale-bar', StaleBar);
