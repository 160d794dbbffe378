// A measured run of one's own over its simulation: what was read, how far both differ, why, and constants fitted to it.
import { html, nothing, type TemplateResult } from 'lit';
import '../draw/chart-view.js';
import { LightElement } from '../app/element.js';
import type { Say } from '../i18n/area.js';
import { measuredRun as texts } from '../i18n/en/measured_run.js';
import { diagnosticLines } from '../ui/diagnostic-lines.js';
import { encodeLink } from '../simulation/module.js';
import { openFiles } from '../files/file-door.js';
import type { OverlaidMetric, OverlayCause, OverlayFit, OverlayReply } from '../simulation/types.js';
import type { Watchable } from '../lib/topic.js';
import { errorText, signedError } from './errors.js';
import { MOST_CONSTANTS, type MeasuredRunState } from './measured-run-state.js';
import './measured-run.css';

const NONE = '–';
/** What the tools call their result files. */
const FILES = 'vLLM bench (--save-result), SGLang bench_serving, AIPerf (profile_export.jsonl), GenAI-Perf, GuideLLM, inference-perf, llm-d-benchmark (YAML, JSON), InferenceX (agg_*.json), LLMServingSim (CSV, requests.jsonl)';

export class MeasuredRunSection extends LightElement {
  static override properties = { ...LightElement.properties, run: { attribute: false } };
  declare run: MeasuredRunState;
  /** What is chosen of what the file does not say, before both runs are compared. */
  readonly #chosenOf = new Map<string, string>();

  protected override watched(): Watchable[] {
    const { run } = this;
    return [run.answer, run.charts, run.fit, run.ofControls, run.said];
  }

  protected override render(): TemplateResult {
    const { app, run } = this;
    const say = this.#say;
    const { state, names, errors, reported, fraction } = run.answer.value;
    this.dataset['state'] = state;
    return html`
      <section aria-labelledby="measured-run-title" @dragover=${(event: DragEvent) => { event.preventDefault(); event.stopPropagation(); }} @drop=${(event: DragEvent) => { this.#dropped(event); }}>
        <h2 id="measured-run-title">${say('title')}</h2>
        <p class="published-note">${say('intro', { files: FILES })}</p>
        <p class="measured-run-row"><label class="button">${say('open')}<input class="visually-hidden" type="file" multiple data-action="open-result" @change=${(event: Event) => { this.#chosen(event); }}></label>
          <span>${say('drop')}</span></p>
        <label class="measured-run-row"><input type="checkbox" data-item="of-controls" .checked=${run.ofControls.value} @change=${(event: Event) => { run.ofControls.set((event.target as HTMLInputElement).checked); void run.run(); }}> ${say('of_controls')}</label>
        ${diagnosticLines(app, errors)}
        ${state === 'running' ? html`<p class="measured-run-row" role="status"><progress max="1" .value=${fraction} aria-label=${say('running', { names: names.join(', ') })}></progress>
          <span>${say('running', { names: names.join(', ') })}</span> <button type="button" data-action="stop" @click=${() => { run.cancel(); }}>${say('stop')}</button></p>` : nothing}
        ${reported === null || state === 'failed' ? nothing : this.#reported(reported)}
      </section>`;
  }

  get #say(): Say<typeof texts> {
    return this.app.text.say(texts);
  }

  #chosen(event: Event): void {
    const input = event.target as HTMLInputElement;
    this.#open([...(input.files ?? [])]);
    // The same file chosen again is a change, too.
    input.value = '';
  }

  #dropped(event: DragEvent): void {
    event.preventDefault();
    event.stopPropagation();
    dispatchEvent(new DragEvent('dragleave'));
    this.#open([...(event.dataTransfer?.files ?? [])]);
  }

  /** Several together are a result with its settings beside it; one alone may be of any kind. */
  #open(files: readonly File[]): void {
    if (files.length === 1) void openFiles(this.app, files);
    else if (files.length > 1) void this.run.open(files);
  }

  #reported(reported: OverlayReply): TemplateResult {
    const { app, run } = this;
    const say = this.#say;
    const { format } = app.text;
    const sent = reported.in_flight === null ? say('sent.times') : say('sent.in_flight', { n: reported.in_flight });
    const read = html`
      <p data-tool=${reported.tool}>${say('read', { names: run.answer.value.names.join(', '), tool: reported.tool, n: format.whole(reported.requests), sent })}</p>
      ${reported.benchmarks.length === 0 ? nothing : html`<p class="measured-run-row"><label>${say('benchmark')} <select data-item="benchmark" @change=${(event: Event) => { void run.choose(Number((event.target as HTMLSelectElement).value)); }}>
        ${reported.benchmarks.map((label, place) => html`<option value=${place + 1} .selected=${reported.benchmark === place + 1}>${place + 1}: ${label}</option>`)}</select></label></p>`}`;
    if (reported.missing.length > 0) return html`${read}${this.#question(reported)}`;
    return html`
      ${read}
      ${this.#said(reported)}
      ${reported.unfinished === 0 ? nothing : html`<p class="published-note">${say('unfinished', { n: reported.unfinished })}</p>`}
      ${reported.notes.map((note) => html`<p class="published-note" lang="en">${note}</p>`)}
      ${this.#metrics(reported)}
      ${reported.cause === null ? nothing : html`<p class="measured-run-cause" data-culprit=${reported.cause.culprit}>${this.#cause(reported.cause, reported)}</p>`}
      ${run.charts.value.size === 0 ? html`<p class="published-note">${say('no_times')}</p>` : html`
        <div class="chart-grid measured-run-charts">${[...run.charts.value.keys()].map((name) => html`<chart-view .app=${app} .name=${name} .feed=${run.feed}></chart-view>`)}</div>`}
      ${reported.by_input_length.length === 0 ? nothing : this.#byLength(reported)}
      ${this.#taken(reported)}
      ${reported.fittable.length === 0 ? nothing : this.#fit(reported)}
      <p><a data-action="open-simulation" href=${`#${encodeLink(reported.scenario)}`}>${say('explore')}</a> ${say('explore.note')}</p>`;
  }

  #value(name: string, value: number | null): string {
    const { format } = this.app.text;
    if (value === null) return NONE;
    return name.endsWith('_s') && !name.endsWith('per_s') ? format.seconds(value) : format.short(value);
  }

  #metrics({ metrics }: OverlayReply): TemplateResult {
    const say = this.#say;
    const { format } = this.app.text;
    const name = (metric: string): string => this.app.text.find(texts, `metric.${metric}`) ?? metric;
    const share = (value: number | null, text: (value: number) => string): string => (value === null ? NONE : text(value));
    return html`
      <div class="who-scroll" tabindex="0" role="region" aria-label=${say('table')}><table class="who published">
        <thead><tr><td></td>${(['measured', 'simulated', 'bias', 'mape', 'correlation'] as const).map((key) => html`<th scope="col">${say(key)}</th>`)}</tr></thead>
        <tbody>${Object.entries(metrics).map(([key, metric]: [string, OverlaidMetric]) => html`
          <tr data-overlaid=${key} data-measured=${metric.measured ?? ''} data-simulated=${metric.simulated ?? ''} data-mape=${metric.mape ?? ''} data-correlation=${metric.correlation ?? ''}>
            <th scope="row">${name(key)}</th><td>${this.#value(key, metric.measured)}</td><td>${this.#value(key, metric.simulated)}</td>
            <td>${share(metric.bias, (value) => signedError(format, value))}</td><td>${share(metric.mape, (value) => errorText(format, value))}</td>
            <td>${share(metric.correlation, (value) => value.toFixed(3))}</td></tr>`)}</tbody></table></div>`;
  }

  /** What the file does not say is asked before both runs are compared: on another GPU every difference has that cause. */
  #question({ missing }: OverlayReply): TemplateResult {
    const { run } = this;
    const say = this.#say;
    const { said } = run;
    // Nothing is chosen beforehand: a GPU that was not looked at would give a verdict of another server.
    const now = (path: string): string => this.#chosenOf.get(path) ?? said.value[path] ?? '';
    const choice = (path: string): TemplateResult | typeof nothing => this.#choice(path, now(path), (value) => {
      this.#chosenOf.set(path, value);
      this.requestUpdate();
    });
    const chosen = Object.fromEntries(missing.map((path) => [path, now(path)]));
    return html`
      <div class="measured-run-question" role="group" aria-label=${say('question')}>
        <p>${say('question')}</p>
        <p class="measured-run-row">${missing.map(choice)} <button type="button" data-action="compare" ?disabled=${Object.values(chosen).includes('')} @click=${() => { this.#chosenOf.clear(); void run.say(chosen); }}>${say('question.compare')}</button></p>
      </div>`;
  }

  /** A choice of a setting; empty as long as nothing is chosen. */
  #choice(path: string, now: string, choose: (value: string) => void, isSaid = false): TemplateResult | typeof nothing {
    const { app } = this;
    const parameter = app.parameters.get(path);
    if (parameter?.type !== 'choice') return nothing;
    return html`<label>${app.text.label(parameter)} <select data-missing=${isSaid ? nothing : path} data-said=${isSaid ? path : nothing} @change=${(event: Event) => { choose((event.target as HTMLSelectElement).value); }}>
      ${now === '' ? html`<option value="" selected>${this.#say('question.choose')}</option>` : nothing}
      ${parameter.options.map((value) => html`<option value=${value} .selected=${value === now}>${app.text.choice(parameter, value)}</option>`)}</select></label>`;
  }

  /** What the reader has said in the place of the file, which can be said otherwise. */
  #said({ taken_over: taken }: OverlayReply): TemplateResult | typeof nothing {
    const { run } = this;
    const said = Object.entries(run.said.value).filter(([path]) => !taken.some((one) => one.path === path));
    if (said.length === 0) return nothing;
    return html`<p class="measured-run-row" data-item="said">${this.#say('said')} ${said.map(([path, now]) => this.#choice(path, now, (value) => { void run.say({ [path]: value }); }, true))}</p>`;
  }

  #cause(cause: OverlayCause, { metrics }: OverlayReply): string {
    const { text } = this.app;
    const seconds = (value: number | null): string => text.format.seconds(Math.abs(value ?? 0));
    const bias = metrics['tpot_s']?.bias ?? 0;
    const sign = (value: number | null): string => this.#say((value ?? 0) > 0 ? 'longer' : 'shorter');
    return text.fill(text.find(texts, `cause.${cause.culprit}`) ?? cause.culprit, {
      floor: seconds(cause.floor_s), floor_way: sign(cause.floor_s), slope: seconds(cause.slope_s_per_token), slope_way: sign(cause.slope_s_per_token),
      drift: seconds(cause.drift_s), drift_way: sign(cause.drift_s), tpot: errorText(text.format, Math.abs(bias)), tpot_way: sign(bias),
    });
  }

  #byLength({ by_input_length: buckets }: OverlayReply): TemplateResult {
    const say = this.#say;
    const { format } = this.app.text;
    const bias = (value: number | null): string => (value === null ? NONE : signedError(format, value));
    return html`
      <div class="who-scroll" tabindex="0" role="region" aria-label=${say('by_length')}><table class="who published">
        <thead><tr><th scope="col">${say('by_length')}</th><th scope="col">${say('requests')}</th><th scope="col">TTFT</th><th scope="col">TPOT</th><th scope="col">E2E</th></tr></thead>
        <tbody>${buckets.map((bucket) => html`<tr><th scope="row">${say('from_to', { from: bucket.from_tokens, to: bucket.to_tokens })}</th><td>${format.whole(bucket.requests)}</td>
          <td>${bias(bucket.ttft_bias)}</td><td>${bias(bucket.tpot_bias)}</td><td>${bias(bucket.e2e_bias)}</td></tr>`)}</tbody></table></div>`;
  }

  #taken({ taken_over: taken }: OverlayReply): TemplateResult {
    const { app } = this;
    const say = this.#say;
    return html`<details class="fold"><summary><h3>${say('taken', { n: taken.length })}</h3></summary>
      <ul class="measured-run-taken">${taken.map(({ path, value, from }) => {
        const parameter = app.parameters.get(path);
        return html`<li data-taken=${path}>${say('setting', { name: parameter === undefined ? path : app.text.label(parameter), value: parameter?.type === 'choice' ? app.text.choice(parameter, value) : value })} <small lang="en">(${from})</small></li>`;
      })}</ul></details>`;
  }

  #fit(reported: OverlayReply): TemplateResult {
    const { app, run } = this;
    const say = this.#say;
    const chosen = run.fit.value;
    const isBusy = run.answer.value.state === 'running';
    const constants = reported.fittable.flatMap((path) => app.parameters.get(path) ?? []);
    const name = (path: string): string => { const parameter = app.parameters.get(path); return parameter === undefined ? path : app.text.label(parameter); };
    return html`
      <h3>${say('fit')}</h3><p class="published-note">${say('fit.about')}</p>
      <div class="measured-run-row">
        <label>${say('fit.constant')} <select data-item="constant" ?disabled=${chosen.length >= MOST_CONSTANTS} @change=${(event: Event) => {
          const select = event.target as HTMLSelectElement;
          run.fit.set([...chosen, select.value]);
          select.value = '';
        }}><option value="">${say('fit.choose')}</option>${constants.filter(({ id }) => !chosen.includes(id)).map((parameter) => html`<option value=${parameter.id}>${name(parameter.id)}</option>`)}</select></label>
        ${chosen.map((path) => html`<button type="button" class="quiet" data-constant=${path} aria-label=${say('fit.remove', { name: name(path) })} @click=${() => { run.fit.set(chosen.filter((other) => other !== path)); }}>${name(path)} ×</button>`)}
        <button type="button" data-action="fit" ?disabled=${chosen.length === 0 || isBusy} @click=${() => { void run.run(); }}>${say('fit.run')}</button>
      </div>
      ${reported.fit === undefined ? nothing : this.#fitted(reported.fit, name)}`;
  }

  #fitted({ constants, runs, fitted_half: fitted, left_out_half: leftOut }: OverlayFit, name: (path: string) => string): TemplateResult {
    const say = this.#say;
    const { format } = this.app.text;
    const halves = [fitted.before, fitted.after, leftOut.before, leftOut.after];
    const error = (metric: OverlaidMetric | undefined): string => (metric === undefined || metric.mape === null ? NONE : errorText(format, metric.mape));
    return html`
      <ul>${Object.entries(constants).map(([path, { before, after }]) => html`<li data-fitted=${path} data-after=${after}>${say('fit.moved', { name: name(path), before: format.exact(before), after: format.short(after) })}</li>`)}</ul>
      <div class="who-scroll" tabindex="0" role="region" aria-label=${say('fit.table', { n: runs })}><table class="who published" data-fit-runs=${runs}>
        <caption>${say('fit.table', { n: runs })}</caption>
        <thead><tr><td></td>${(['fitted.before', 'fitted.after', 'left_out.before', 'left_out.after'] as const).map((key) => html`<th scope="col">${say(`fit.${key}`)}</th>`)}</tr></thead>
        <tbody>${Object.keys(fitted.before).map((key) => html`<tr data-fit=${key}><th scope="row">${this.app.text.find(texts, `metric.${key}`) ?? key}</th>${halves.map((half) => html`<td>${error(half[key])}</td>`)}</tr>`)}</tbody></table></div>`;
  }
}

customElements.define('measured-run-section', MeasuredRunSection);
