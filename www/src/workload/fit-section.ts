// Fit and compare: the distributions found, the twins of every model and how far each is from the source.
import { html, nothing, type TemplateResult } from 'lit';
import { definition } from '../ui/definition.js';
import { LightElement } from '../app/element.js';
import type { FitReply } from '../simulation/types.js';
import type { Watchable } from '../lib/topic.js';
import type { WorkloadState } from './workload-state.js';
import type { Say } from '../i18n/area.js';
import { workload } from '../i18n/en/workload.js';
import { modelAbout, modelLabel, noticeWords } from './step-texts.js';

const MODELS = ['bursts', 'curve', 'weibull_mle', 'gamma_mle', 'gamma', 'poisson'] as const;
/** A ratio of dispersions further from 1 than this is shown as a miss. */
const NEAR = 0.25;

export class FitSection extends LightElement {
  static override properties = { ...LightElement.properties, studio: { attribute: false }, model: { state: true }, seed: { state: true } };
  declare studio: WorkloadState;
  declare model: string;
  declare seed: number;

  constructor() {
    super();
    this.model = MODELS[0];
    this.seed = 1;
  }

  protected override watched(): Watchable[] {
    return [this.studio.fit, this.studio.fitting];
  }

  protected override render(): TemplateResult {
    const { app, studio } = this;
    const say = app.text.say(workload);
    const fit = studio.fit.value;
    const working = studio.fitting.value;
    return html`
      <p class="about">${say('fit.about')}</p>
      <div class="choices">
        <label for="fit-model">${say('fit.model')}</label>
        <select id="fit-model" @change=${(event: Event) => { this.model = (event.target as HTMLSelectElement).value; if (fit !== null) this.#fit(); }}>
          ${MODELS.map((model) => html`<option value=${model} .selected=${model === this.model}>${modelLabel(app, model)}</option>`)}</select>
        <button type="button" class="fit-run" ?disabled=${working} @click=${() => { if (fit !== null) this.seed += 1; this.#fit(); }}>${say(working ? 'fit.working' : fit === null ? 'fit.run' : 'fit.again')}</button>
        <button type="button" class="fit-use" ?hidden=${fit === null} @click=${() => { void this.#use(say); }}>${say('fit.use')}</button>
      </div>
      ${fit === null ? nothing : this.#reply(say, fit)}`;
  }

  #fit(): void {
    this.studio.drawTwin(this.model, this.seed);
  }

  #reply(say: Say<typeof workload>, fit: FitReply): TemplateResult {
    const { app } = this;
    const { format } = app.text;
    const number = (value: number | null): string => format.of('number', value);
    const { distributions } = fit;
    const facts: [string, string][] = [
      [say('fit.fitted.rate'), number(distributions.rate_rps)], [say('fit.fitted.cv'), number(distributions.cv)], [say('fit.fitted.cv_minutes'), number(distributions.cv_within_minutes)],
      [say('fit.fitted.gamma'), number(distributions.gamma_shape)], [say('fit.fitted.weibull'), number(distributions.weibull_shape)],
      [say('fit.fitted.dispersion'), distributions.dispersion.map(number).join(' / ')],
      [say('fit.fitted.input'), lengthText(say, app.text.option.bind(app.text), number, distributions.input)], [say('fit.fitted.output'), lengthText(say, app.text.option.bind(app.text), number, distributions.output)],
      [say('fit.fitted.correlation'), number(distributions.length_correlation)],
      ...(distributions.users === null ? [] : [[say('fit.fitted.users'), `${app.text.option(distributions.users.distribution)}${distributions.users.parameter === null ? '' : ` ${number(distributions.users.parameter)}`} (${number(distributions.users.divergence_nats)} nats)`] as [string, string]]),
    ];
    return html`
      <ul class="warnings">${fit.findings.map((fact) => html`<li>${noticeWords(app, fact)}</li>`)}</ul>
      <dl class="fitted">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
      <div class="who-scroll" tabindex="0" role="region" aria-labelledby="fit-caption">
        <table class="fit"><caption id="fit-caption">${say('fit.distance')}; ${say('fit.dispersion')}</caption>
          <thead><tr><th scope="col">${say('fit.model')}</th>
            ${(['fit.gaps', 'fit.input', 'fit.output', 'fit.users'] as const).map((key) => html`<th scope="col">${say(key)}</th>`)}
            ${[1, 10, 60].map((window) => html`<th scope="col">${say('fit.window', { window })}</th>`)}</tr></thead>
          <tbody>${fit.models.map((row) => html`
            <tr data-model=${row.model} aria-current=${row.model === this.model ? 'true' : 'false'}>
              <th scope="row">${definition(`fit-model-${row.model}`, modelLabel(app, row.model), modelAbout(app, row))}</th>
              ${[row.gaps, row.input, row.output, row.users].map((value) => html`<td>${number(value)}</td>`)}
              ${row.dispersion.map((ratio) => html`<td class=${ratio === null || Math.abs(ratio - 1) <= NEAR ? '' : 'miss'}>${ratio === null ? '–' : `×${format.short(ratio)}`}</td>`)}
            </tr>`)}</tbody></table>
      </div>`;
  }

  async #use(say: Say<typeof workload>): Promise<void> {
    const { traceFile } = this.app;
    const name = say('fit.twin_name', { model: this.model, seed: this.seed });
    // The twin is of what the steps made: they are not taken again.
    traceFile.pipe.set({ ...traceFile.pipe.value, steps: [] });
    await traceFile.take(await (await traceFile.studio()).call('use_twin', { name }));
  }
}

function lengthText(say: Say<typeof workload>, option: (name: string) => string, number: (value: number | null) => string, fitted: { distribution: string; distance: number | null } | null): string {
  return fitted === null ? '–' : say('fit.fitted.length', { distribution: option(fitted.distribution), distance: number(fitted.distance) });
}

customElements.define('fit-section', FitSection);
