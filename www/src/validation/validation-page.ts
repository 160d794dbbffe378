// Recorded runs of other people under our curves: where the simulator is right, by how much it is wrong, and what it knew.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import '../draw/chart-view.js';
import { LightElement } from '../app/element.js';
import type { PublishedErrors, PublishedFigure, PublishedPoint } from '../simulation/types.js';
import type { Watchable } from '../lib/topic.js';
import { SUITES, SWEEPS, type Suite, type Sweep } from './figures-calls.js';
import { errorText } from '../measured-run/errors.js';
import { chartName, FiguresState } from './figures-state.js';
import './published.css';
import './deployments-section.js';
import { DeploymentsState } from './deployments-state.js';
import '../measured-run/measured-run-section.js';
import { MeasuredRunState } from '../measured-run/measured-run-state.js';
import './recordings-section.js';
import { validation } from '../i18n/en/validation.js';

/** Measures of each sweep, in the order of the page. */
const MEASURES: Readonly<Record<Sweep, readonly PublishedFigure['measure'][]>> = {
  n: ['throughput', 'e2e', 'first_token', 'attainment'],
  R: ['throughput', 'e2e', 'first_token', 'attainment'],
  cv: ['throughput', 'e2e', 'first_token', 'attainment'],
  alpha: ['throughput', 'e2e', 'first_token', 'attainment'],
  policies: ['attainment', 'rejected'],
};

export function validationPage(app: App): ValidationPage {
  return ValidationPage.of(app, { published: new FiguresState(app), deployments: new DeploymentsState(app), measuredRun: new MeasuredRunState(app) });
}

export class ValidationPage extends LightElement {
  declare published: FiguresState;
  declare deployments: DeploymentsState;
  declare measuredRun: MeasuredRunState;

  protected override watched(): Watchable[] {
    return [this.published.shown, this.published.recordings];
  }

  protected override render(): TemplateResult {
    const { app, published } = this;
    const say = app.text.say(validation);
    const { suite, figures, failure } = published.shown.value;
    const isReady = figures.size === SWEEPS.length && published.recordings.value !== null;
    this.dataset['state'] = failure !== '' ? 'failed' : isReady ? 'ready' : 'running';
    return html`
      <deployments-section .app=${app} .deployments=${this.deployments}></deployments-section>
      <measured-run-section .app=${app} .run=${this.measuredRun}></measured-run-section>
      <section aria-labelledby="published-title"><h2 id="published-title">${say('title')}</h2>
        <p class="published-note">${say('intro')}</p>
        <p class="published-note">${say('intro.calibrations')}</p>
        ${failure === '' ? nothing : html`<p class="notice error">${failure}</p>`}
        <div class="published-choice">
          <label for="published-suite">${say('suite')}</label>
          <select id="published-suite" @change=${(event: Event) => { published.choose((event.target as HTMLSelectElement).value as Suite); }}>
            ${SUITES.map((name) => html`<option value=${name} .selected=${name === suite}>${say(`suite.${name}`)}</option>`)}
          </select>
        </div>
        <p class="published-source">${say('source.slora')}</p>
      </section>
      ${SWEEPS.map((sweep) => this.#sweep(sweep))}
      <recordings-section .app=${app} .published=${published}></recordings-section>`;
  }

  #sweep(sweep: Sweep): TemplateResult | typeof nothing {
    const { app, published } = this;
    const say = app.text.say(validation);
    const figures = published.shown.value.figures.get(sweep);
    if (figures?.length === 0) return nothing;
    return html`
      <section aria-labelledby="published-${sweep}"><h2 id="published-${sweep}">${say(`sweep.${sweep}`)}</h2>
        <p class="about">${say(`sweep.${sweep}.about`)}</p>
        <div class="published-grid ${sweep === 'policies' ? 'wide' : ''}">${MEASURES[sweep].map((measure) => {
          const name = chartName({ sweep, measure });
          return html`<div class="published-cell"><chart-view .app=${app} .name=${name} .feed=${published.feed}></chart-view>
            <div class="published-errors">${this.#errors(figures?.find((figure) => figure.measure === measure))}</div></div>`;
        })}</div>
        ${figures === undefined ? nothing : this.#table(sweep, figures)}
      </section>`;
  }

  #errors(figure: PublishedFigure | undefined): TemplateResult | typeof nothing {
    if (figure === undefined) return nothing;
    const say = this.app.text.say(validation);
    const { points, ours, one_run } = figure;
    const tuned = points.filter(({ is_tuned }) => is_tuned).length;
    return html`
      ${ours === null ? nothing : this.#error(tuned > 0 ? say('errors.ours_but', { tuned }) : say('errors.ours'), figure, ours)}
      ${one_run === null ? nothing : this.#error(say('errors.one_run'), figure, one_run)}`;
  }

  #error(who: string, { measure }: PublishedFigure, { max, mean, points, bound, within }: PublishedErrors): TemplateResult {
    const { format } = this.app.text;
    const say = this.app.text.say(validation);
    const isShare = measure === 'attainment';
    const as = (error: number): string => errorText(format, error, isShare);
    const kept = bound === null ? '' : say('errors.within', { within, points, bound: isShare ? format.short(bound) : format.share(bound) });
    return html`<p class=${within < points ? 'off' : ''}>${say('errors', { who, mean: as(mean), max: as(max) })} ${kept}</p>`;
  }

  /** The points as numbers, each with the way to its scenario: what a click on the drawing does for those who see it. */
  #table(sweep: Sweep, figures: readonly PublishedFigure[]): TemplateResult {
    const { app } = this;
    const say = app.text.say(validation);
    const { points } = figures[0] ?? { points: [] };
    return html`
      <details class="published-table"><summary>${say('table.show')}</summary>
        <div class="who-scroll" tabindex="0" role="region" aria-label="${say(`sweep.${sweep}`)}: ${say('table.show')}">
          <table class="who published">
            <caption>${say(this.published.shown.value.suite === 'S4' ? 'table.caption.one_run' : 'table.caption')}</caption>
            <thead><tr><th scope="col">${say(`axis.${sweep}`)}</th>${sweep === 'policies' ? html`<th scope="col">${say('policy')}</th>` : nothing}
              ${figures.map(({ measure }) => html`<th scope="col">${say(`measure.${measure}`)}</th>`)}
              <th scope="col">${say('table.role')}</th><td></td></tr></thead>
            <tbody>${points.map((point) => this.#row(sweep, point, figures))}</tbody>
          </table>
        </div>
      </details>`;
  }

  #row(sweep: Sweep, point: PublishedPoint, figures: readonly PublishedFigure[]): TemplateResult {
    const { app } = this;
    const say = app.text.say(validation);
    const { policy, x, is_tuned, is_settling, link } = point;
    const roles = [is_tuned ? say('table.tuned') : '', is_settling ? say('table.settles') : ''].filter((role) => role !== '');
    const isPolicies = sweep === 'policies';
    return html`
      <tr data-point="${sweep} ${x} ${policy}"><th scope="row">${app.text.format.exact(x)}</th>
        ${isPolicies ? html`<td>${say(`policy.${policy}` as 'policy.fcfs')}</td>` : nothing}
        ${figures.map((figure) => this.#cell(figure, figure.points.find((other) => other.x === x && other.policy === policy)))}
        <td>${roles.join(', ')}</td>
        <td><a href="#${link}">${say('open')}<span class="visually-hidden"> ${say(`axis.${sweep}`)} ${app.text.format.exact(x)} ${isPolicies ? policy : ''}</span></a></td></tr>`;
  }

  #cell({ measure }: PublishedFigure, point: PublishedPoint | undefined): TemplateResult {
    if (point === undefined) return html`<td></td>`;
    const { format } = this.app.text;
    const as = (value: number): string => (measure === 'rejected' ? format.whole(value) : format.short(value));
    const { theirs, ours, one_run } = point;
    const own = ours === null ? [one_run] : [ours, one_run];
    return html`<td data-measure=${measure} data-theirs=${theirs} data-ours=${ours ?? ''} data-one-run=${one_run}>${[...own, theirs].map(as).join(' / ')}</td>`;
  }
}

customElements.define('validation-page', ValidationPage);
