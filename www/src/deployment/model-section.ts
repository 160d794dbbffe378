// A config.json of Hugging Face in place of the list of models: chosen, dropped or pasted.
import { html, nothing, type TemplateResult } from 'lit';
import { LightElement } from '../app/element.js';
import { ownModel } from '../i18n/en/own_model.js';
import { diagnosticLines } from '../ui/diagnostic-lines.js';
import type { Watchable } from '../lib/topic.js';
import { openFiles } from '../files/file-door.js';
import { modelDiagnostic, readModel, takeModel } from '../files/own-model.js';
import '../profile/profile-section.css';

export class ModelSection extends LightElement {
  protected override watched(): Watchable[] {
    return [this.app.shown, readModel];
  }

  protected override look(): string {
    return String(this.app.store.resolved.values['fleet.model']);
  }

  protected override render(): TemplateResult {
    const { app } = this;
    const say = app.text.say(ownModel);
    const model = String(app.store.resolved.values['fleet.model']);
    const read = readModel.value?.model === model ? readModel.value : null;
    return html`
      <details class="own-profile own-model" ?open=${model === 'own' || read !== null} @dragover=${(event: Event) => { event.preventDefault(); }} @drop=${(event: DragEvent) => { this.#dropped(event); }}>
        <summary>${say('title')}</summary>
        <p>${say('about')}</p>
        <div class="choices">
          <button type="button" @click=${() => { this.querySelector<HTMLInputElement>('input[type=file]')?.click(); }}>${say('choose')}</button>
          <input type="file" hidden accept=".json" aria-label=${say('choose')} @change=${(event: Event) => { this.#chosen(event); }}>
        </div>
        <label for="own-model-text">${say('paste')}</label>
        <textarea id="own-model-text" rows="4" spellcheck="false" autocomplete="off"></textarea>
        <div class="choices"><button type="button" class="use" @click=${() => { this.#pasted(say('pasted')); }}>${say('use')}</button></div>
        ${read === null ? nothing : html`
        <p role="status">${say('in_use', { name: read.name })}</p>
        ${diagnosticLines(app, read.notes, (note) => modelDiagnostic(app, note))}`}
      </details>`;
  }

  #pasted(name: string): void {
    const text = this.querySelector<HTMLTextAreaElement>('textarea')?.value ?? '';
    void takeModel(this.app, name, text);
  }

  #chosen(event: Event): void {
    const input = event.target as HTMLInputElement;
    void this.#take(input.files?.[0]);
    // The same file may be chosen again once it is mended.
    input.value = '';
  }

  #dropped(event: DragEvent): void {
    event.preventDefault();
    // The page would take a file for requests; it is notified that no file is dragged over it any more.
    event.stopPropagation();
    dispatchEvent(new DragEvent('dragleave'));
    void this.#take(event.dataTransfer?.files[0]);
  }

  async #take(file: File | undefined): Promise<void> {
    if (file !== undefined) await openFiles(this.app, [file]);
  }
}

customElements.define('model-section', ModelSection);
