// Where requests come from: the settings, or a file.
import { html, nothing, type TemplateResult } from 'lit';
import { LightElement } from '../element.js';
import type { Watchable } from '../state/topic.js';
import { wordsOf } from './words.js';

export class SourceSection extends LightElement {
  protected override watched(): Watchable[] {
    const { traceFile, session } = this.app;
    return [traceFile.info, traceFile.loading, session];
  }

  protected override look(): string {
    const { traceFile, session } = this.app;
    return [traceFile.info.value?.name, traceFile.info.value?.requests, traceFile.loading.value?.fraction, session.value.answer?.summary.requests.offered, session.value.answer?.summary.makespan_s].join('|');
  }

  protected override render(): TemplateResult {
    const { app } = this;
    const say = wordsOf(app);
    const { format } = app.text;
    const file = app.traceFile.info.value;
    const loading = app.traceFile.loading.value;
    const requests = app.session.value.answer?.summary.requests.offered ?? 0;
    const duration = Number(app.store.resolved.values['workload.duration_s']);
    return html`
      <p>${file === null
        ? say('source.generated', { requests, span: format.seconds(duration) })
        : say('source.file', {
          name: file.name, format: file.format, requests: file.requests, span: format.seconds(file.span_s),
          rate: format.of('number', file.rate_rps), input: format.short(file.input_tokens_mean), output: format.short(file.output_tokens_mean),
        })}</p>
      ${loading === null ? nothing : html`
        <p class="loading">${app.text.t('progress.reading', { name: loading.name })} <progress max="1" .value=${loading.fraction}></progress>
          <button type="button" @click=${() => { void app.traceFile.cancel(); }}>${say('source.cancel')}</button></p>`}
      <div class="choices">
        <button type="button" @click=${() => { this.querySelector<HTMLInputElement>('input[type=file]')?.click(); }}>${say('source.open')}</button>
        <input type="file" hidden aria-label=${say('source.open')} @change=${(event: Event) => { this.#opened(event); }}>
        <button type="button" ?hidden=${file === null} @click=${() => { void app.traceFile.clear(); }}>${say('source.close')}</button>
      </div>`;
  }

  #opened(event: Event): void {
    const input = event.target as HTMLInputElement;
    const file = input.files?.[0];
    if (file !== undefined) void this.app.traceFile.load(file);
    // The same file chosen again is a change too.
    input.value = '';
  }
}

customElements.define('source-section', SourceSection);
