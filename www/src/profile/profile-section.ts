// Measurements of one's own in place of the shipped tables: files in, the error of the fit, the fitted profile out. The
// simulator's thread reads and fits.
import { html, nothing, type TemplateResult } from 'lit';
import { downloadText } from '../draw/export-chart.js';
import { LightElement } from '../app/element.js';
import { diagnosticLines } from '../ui/diagnostic-lines.js';
import { openFiles } from '../files/file-door.js';
import { Refusal } from '../simulation/worker-link.js';
import type { DeploymentView, FittedProfile } from '../simulation/types.js';
import type { Watchable } from '../lib/topic.js';
import { backToShipped, ownProfile, takeFiles } from '../app/own-profile.js';
import './profile-section.css';
import type { Say } from '../i18n/area.js';
import { profile } from '../i18n/en/profile.js';

interface About { model: string; layers: number; gpu: string }

export class ProfileSection extends LightElement {
  static override properties = { ...LightElement.properties, view: { attribute: false }, fitting: { state: true } };
  declare view: DeploymentView;
  declare fitting: boolean;
  /** What was typed about the files; the rest is as in the scenario. */
  #typed: Partial<About> = {};

  protected override watched(): Watchable[] {
    return [ownProfile];
  }

  get #about(): About {
    const { values } = this.app.store.resolved;
    return { model: String(values['fleet.model']), layers: this.view.layers, gpu: String(values['fleet.gpu']), ...this.#typed };
  }

  async #take(files: readonly File[]): Promise<void> {
    if (files.length === 0) return;
    const { app } = this;
    this.fitting = true;
    try {
      await takeFiles(app, files, this.#about);
      app.notices.dismissErrors();
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown;
      for (const error of thrown.errors) app.notices.error(error.code, () => app.text.diagnostic(error));
    } finally {
      this.fitting = false;
    }
  }

  protected override render(): TemplateResult {
    const say = this.app.text.say(profile);
    const own = ownProfile.value;
    return html`
      <details class="own-profile" @dragover=${(event: Event) => { event.preventDefault(); }} @drop=${(event: DragEvent) => { this.#dropped(event); }}>
        <summary>${say('title')}</summary>
        <p>${say('about')}</p>
        <div class="about-model">${this.#fields(say)}</div>
        <div class="choices">
          <button type="button" ?disabled=${this.fitting} @click=${() => { this.querySelector<HTMLInputElement>('input[type=file]')?.click(); }}>${say(this.fitting ? 'fitting' : 'choose')}</button>
          <input type="file" hidden multiple accept=".csv,.txt" aria-label=${say('choose')} @change=${(event: Event) => { this.#chosen(event); }}>
          ${own === null ? nothing : html`
            <button type="button" class="download" @click=${() => { downloadText(own.name, own.text, 'text/plain'); }}>${say('download')}</button>
            <button type="button" class="back" @click=${() => { void backToShipped(this.app); }}>${say('back')}</button>`}
        </div>
        ${own === null ? nothing : this.#inUse(say, own)}
      </details>`;
  }

  #fields(say: Say<typeof profile>): TemplateResult[] {
    const about = this.#about;
    const input = (key: keyof About, type: string, read: (text: string) => Partial<About>): TemplateResult => html`
      <label for="own-profile-${key}">${say(key)}</label>
      <input id="own-profile-${key}" type=${type} min="1" .value=${String(about[key])} @change=${(event: Event) => { Object.assign(this.#typed, read((event.target as HTMLInputElement).value)); }}>`;
    return [
      input('model', 'text', (model) => ({ model })),
      input('layers', 'number', (layers) => ({ layers: Number(layers) })),
      input('gpu', 'text', (gpu) => ({ gpu })),
    ];
  }

  #chosen(event: Event): void {
    const input = event.target as HTMLInputElement;
    void this.#take([...(input.files ?? [])]);
    // The same files may be chosen again once they are mended.
    input.value = '';
  }

  #dropped(event: DragEvent): void {
    event.preventDefault();
    // The page would take a file for requests; it is notified that no file is dragged over it any more.
    event.stopPropagation();
    dispatchEvent(new DragEvent('dragleave'));
    const files = [...(event.dataTransfer?.files ?? [])];
    void openFiles(this.app, files, () => this.#take(files));
  }

  #inUse(say: Say<typeof profile>, own: FittedProfile): TemplateResult {
    const { app } = this;
    const percent = (points: number, share: number): string =>
      points === 0 ? say('none') : say('percent', { share: app.text.format.short(100 * share) });
    return html`
      <p role="status" data-degrees=${own.degrees.join()}>${say('in_use', { name: own.name, model: own.model, gpu: own.gpu, degrees: own.degrees.join(', ') })}</p>
      ${diagnosticLines(app, own.notes, (note) => app.text.diagnostic(note))}
      ${own.errors.length === 0 ? html`<p class="unknown">${say('unknown')}</p>` : html`
      <div class="errors" tabindex="0" role="region" aria-label=${say('table')}><table>
        <caption>${say('table')}</caption>
        <thead><tr>${(['degree', 'operator'] as const).map((key) => html`<th scope="col">${say(key)}</th>`)}
          ${(['median', 'p95'] as const).map((key) => html`<th scope="col" class="number">${say(key)}</th>`)}<th scope="col">${say('origin')}</th></tr></thead>
        <tbody>${own.errors.map(({ degree, name, origin, points, median, p95 }) => html`
          <tr data-operator=${name} data-degree=${degree}><td>${degree === 0 ? say('none') : degree}</td><th scope="row"><code>${name}</code></th>
            <td class="number">${percent(points, median)}</td><td class="number">${percent(points, p95)}</td><td data-origin=${origin}>${say(origin)}</td></tr>`)}</tbody>
      </table></div>`}`;
  }
}

customElements.define('profile-section', ProfileSection);
