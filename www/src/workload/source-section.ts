// Where requests come from: the settings, or a file.
import { html, nothing, type TemplateResult } from 'lit';
import { LightElement } from '../app/element.js';
import { openFiles } from '../files/file-door.js';
import { Refusal } from '../simulation/worker-link.js';
import { codesOf, type SourceInfo } from '../simulation/types.js';
import type { Watchable } from '../lib/topic.js';
import './refused-file.js';
import { chosenTraffic, editOf, realTraffic, type RealTraffic } from './real-traffic.js';
import type { Say } from '../i18n/area.js';
import { formatName } from '../i18n/format-names.js';
import { workload } from '../i18n/en/workload.js';

const TRAFFIC = realTraffic();

export class SourceSection extends LightElement {
  protected override watched(): Watchable[] {
    const { traceFile, session, store } = this.app;
    return [traceFile.sources, traceFile.loading, session, store.values];
  }

  protected override look(): string {
    const { traceFile, session } = this.app;
    return [traceFile.sources.value.map(({ name, requests, assumed_output_tokens }) => `${name} ${String(requests)} ${String(assumed_output_tokens)}`).join(), traceFile.loading.value?.fraction, session.value.answer?.summary.requests.offered, session.value.answer?.summary.makespan_s, chosenTraffic(TRAFFIC, this.app.store.values.value)?.id].join('|');
  }

  protected override render(): TemplateResult {
    const { app } = this;
    const say = app.text.say(workload);
    const { format } = app.text;
    const sources = app.traceFile.sources.value;
    const loading = app.traceFile.loading.value;
    const requests = app.session.value.answer?.summary.requests.offered ?? 0;
    const duration = Number(app.store.resolved.values['workload.duration_s']);
    const chosen = sources.length === 0 ? chosenTraffic(TRAFFIC, app.store.values.value) : undefined;
    return html`
      ${sources.length === 0 ? html`<p class="generated">${say('source.generated', { requests, span: format.seconds(duration) })}</p>` : nothing}
      ${sources.map((file) => html`<p class="source" data-name=${file.name} data-format=${file.format} data-requests=${file.requests}>${say('source.file', {
        name: file.name, format: formatName(file.format), requests: file.requests, span: format.seconds(file.span_s),
        rate: format.of('number', file.rate_rps), input: format.short(file.input_tokens_mean), output: format.short(file.output_tokens_mean), pd: format.of('number', file.pd_ratio),
      })}</p>
      ${file.bad_rows.total === 0 ? nothing : this.#badRows(say, file)}`)}
      ${sources.some(({ assumed_outputs }) => assumed_outputs > 0) ? this.#assumedOutput(say, sources) : nothing}
      <refused-file .app=${app}></refused-file>
      ${loading === null ? nothing : html`
        <p class="loading">${app.text.t('progress.reading', { name: loading.name })} <progress max="1" .value=${loading.fraction}></progress>
          <button type="button" @click=${() => { void app.traceFile.cancel(); }}>${say('source.cancel')}</button></p>`}
      <div class="choices">
        ${this.#opener(say('source.open'), false)}
        ${sources.length === 0 ? nothing : this.#opener(say('source.add'), true)}
        <button type="button" class="freeze" ?hidden=${sources.length > 0} @click=${() => { void this.#freeze(); }}>${say('source.freeze')}</button>
        <button type="button" class="back" ?hidden=${sources.length === 0} @click=${() => { void app.traceFile.clear(); }}>${say('source.close')}</button>
      </div>
      <div class="choices real-traffic" role="group" aria-label=${say('source.real')}>
        <span>${say('source.real')}</span>
        ${TRAFFIC.map((traffic) => html`<button type="button" data-traffic=${traffic.id} aria-pressed=${traffic === chosen} @click=${() => { void this.#take(traffic); }}>${say(`source.real.${traffic.id}`)}</button>`)}
      </div>
      ${chosen === undefined ? nothing : this.#twin(say, chosen)}`;
  }

  /** What the traffic is, and how far it is from the trace. */
  #twin(say: Say<typeof workload>, { id, source, licence, requests, distances }: RealTraffic): TemplateResult {
    const { format } = this.app.text;
    const number = (value: number): string => format.of('number', value);
    const { dispersion } = distances;
    return html`<p class="about" data-twin=${id}>${say('source.real.about', {
      name: say(`source.real.${id}`), source, licence, requests,
      gaps: number(distances.gaps), input: number(distances.input_tokens), output: number(distances.output_tokens),
      second: number(dispersion['1']), ten: number(dispersion['10']), minute: number(dispersion['60']),
    })}</p>`;
  }

  async #take(traffic: RealTraffic): Promise<void> {
    const { app } = this;
    if (app.traceFile.sources.value.length > 0) await app.traceFile.clear();
    app.store.edit(editOf(traffic, app.store.values.value), `traffic ${traffic.id}`);
  }

  #badRows(say: Say<typeof workload>, { name, bad_rows }: SourceInfo): TemplateResult {
    return html`
      <p class="bad-rows" data-name=${name} data-rows=${bad_rows.total}>${say('source.bad_rows', { name, bad: bad_rows.total })}</p>
      <div class="table-view" tabindex="0" role="region" aria-label=${say('source.bad_rows', { name, bad: bad_rows.total })}>
        <table><thead><tr><th scope="col">${say('source.row')}</th><th scope="col">${say('source.column')}</th><th scope="col">${say('source.reason')}</th></tr></thead>
          <tbody>${bad_rows.listed.map(({ row, column, error }) => html`<tr><td>${row}</td><td>${column}</td><td data-code=${error.code}>${this.app.text.diagnostic(error)}</td></tr>`)}</tbody></table>
      </div>`;
  }

  /** Files without some output lengths: the length that stands for them. */
  #assumedOutput(say: Say<typeof workload>, sources: readonly SourceInfo[]): TemplateResult {
    const requests = sources.reduce((sum, { assumed_outputs }) => sum + assumed_outputs, 0);
    const tokens = sources.find(({ assumed_outputs }) => assumed_outputs > 0)?.assumed_output_tokens ?? 0;
    return html`
      <div class="fields"><div class="field any-output">
        <label for="any-output">${say('source.any_output', { requests })}</label>
        <input id="any-output" type="number" min="1" max="10000000" step="1" .value=${String(tokens)} @change=${(event: Event) => { this.#assume(event); }}>
      </div></div>`;
  }

  #assume(event: Event): void {
    const input = event.target as HTMLInputElement;
    // An empty field asks for the median again.
    if (input.checkValidity()) void this.app.traceFile.assume(input.value === '' ? 0 : Number(input.value));
  }

  #opener(label: string, add: boolean): TemplateResult {
    const name = add ? 'add' : 'open';
    return html`
      <button type="button" class=${name} @click=${() => { this.querySelector<HTMLInputElement>(`input[data-file=${name}]`)?.click(); }}>${label}</button>
      <input type="file" hidden data-file=${name} aria-label=${label} @change=${(event: Event) => { this.#opened(event, add); }}>`;
  }

  #opened(event: Event, add: boolean): void {
    const input = event.target as HTMLInputElement;
    const file = input.files?.[0];
    if (file !== undefined && add) void this.app.traceFile.load(file, add);
    else if (file !== undefined) void openFiles(this.app, [file]);
    // The same file chosen again is a change too.
    input.value = '';
  }

  async #freeze(): Promise<void> {
    const { app } = this;
    const { 'seed': seed } = app.store.resolved.values;
    const name = app.text.say(workload)('source.generated_name', { seed: String(seed) });
    try {
      await app.traceFile.take(await (await app.traceFile.studio()).call('materialize_generated', { name, scenario: app.store.values.value }));
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown;
      app.notices.error(codesOf(thrown.errors), () => app.text.diagnostics(thrown.errors));
    }
  }
}

customElements.define('source-section', SourceSection);
