// A sweep: what is varied and measured, how far it is, its charts and its numbers.
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import type { App } from '../app/app.js';
import { copied } from '../ui/copy.js';
import { downloadText } from '../draw/export-chart.js';
import '../draw/chart-view.js';
import { LightElement } from '../app/element.js';
import { sweep as words } from '../i18n/en/sweep.js';
import { diagnosticLines } from '../ui/diagnostic-lines.js';
import { progressLine } from '../ui/progress-line.js';
import { encodeLink, parseLink } from '../simulation/module.js';
import type { SweepPlan, SweepPoint } from '../simulation/types.js';
import type { Watchable } from '../lib/topic.js';
import { sweepForm } from './sweep-controls.js';
import { numberOf } from './sweep-feed.js';
import { SweepState } from './sweep-state.js';
import { cellText, closedFormName, metricName, obstacleText, parameterName, parameterValue, settingsName } from './sweep-words.js';
import './sweep-section.css';

/** Rows of the table; files have all. */
const MOST_ROWS = 500;

export function sweepSection(app: App): SweepSection {
  return SweepSection.of(app, { state: new SweepState(app) });
}

export class SweepSection extends LightElement {
  declare state: SweepState;

  protected override watched(): Watchable[] {
    const { app, state } = this;
    return [state.answer, state.form, app.sweep, app.store.values, app.traceFile.missing];
  }

  protected override render(): TemplateResult {
    const { app, state } = this;
    const say = app.text.say(words);
    const { state: now, done, all, kept, keeps, errors, plan } = state.answer.value;
    this.dataset['sweep'] = now;
    this.dataset['done'] = String(done);
    this.dataset['kept'] = String(kept);
    this.dataset['id'] = plan?.sweep ?? '';
    return html`
      <p class="about">${say('about')}</p>
      ${sweepForm(state)}
      ${app.sweep.value !== null && app.traceFile.missing.value !== null ? html`<p class="sweep-note">${say('file_missing')}</p>` : nothing}
      ${diagnosticLines(app, errors)}
      ${now === 'none' ? nothing : html`
        ${progressLine({
          state: now,
          share: done / Math.max(all, 1),
          label: say('progress', { done, all }),
          reported: all === 0 ? '' : [say('progress', { done, all }), ...(kept > 0 ? [say('kept', { n: kept })] : [])].join(app.text.t('list.sentences')),
          stop: { words: say('stop'), run: () => { state.stop(); } },
          again: { words: say('again'), run: () => { void state.begin(); } },
          resumes: ['stopped', 'failed'],
          more: now === 'running' ? nothing : html`<button type="button" class="quiet" data-action="clear" @click=${() => { app.sweep.set(null); }}>${say('clear')}</button>`,
        })}
        ${keeps ? nothing : html`<p class="sweep-note">${say('not_kept')}</p>`}
        ${this.#other()}
        ${plan === null ? nothing : this.#results(plan)}`}`;
  }

  /** The controls may have moved on, for one to a point of the sweep. */
  #other(): TemplateResult | typeof nothing {
    const { app } = this;
    const { value: sweep } = app.sweep;
    if (sweep === null || encodeLink(app.store.values.value) === sweep.link) return nothing;
    const say = app.text.say(words);
    return html`<p class="sweep-note" data-other>${say('other')}
      <button type="button" class="quiet" data-action="take" @click=${() => { app.take({ values: parseLink(sweep.link).scenario }); }}>${say('other.take')}</button></p>`;
  }

  #results(plan: SweepPlan): TemplateResult | typeof nothing {
    const { app, state } = this;
    const { results } = state.answer.value;
    if (results === null) return nothing;
    const say = app.text.say(words);
    const failed = results.points.filter(({ error }) => error !== undefined);
    const [first] = failed;
    const missing = state.answer.value.state !== 'ready' ? [] : plan.metrics.filter((metric) => results.points.every(({ metrics }) => metrics[metric]?.mean === null));
    return html`
      ${first === undefined ? nothing : html`<p class="notice error" data-errors=${failed.length}>${say('errors', { n: failed.length, all: results.points.length, point: settingsName(app, first.point), message: state.whyNot(numberOf(plan, first)) })}</p>`}
      ${missing.map((metric) => html`<p class="sweep-note" data-missing-metric=${metric}>${say('missing', { name: metricName(app, metric) })}</p>`)}
      ${results.views.length === 0 ? html`<p class="sweep-note">${say('no_number')}</p>` : nothing}
      <div class="chart-grid">${repeat([...state.drawn.value.charts.keys()], (name) => name, (name) => html`<chart-view .app=${app} .name=${name} .feed=${state.feed}></chart-view>`)}</div>
      ${this.#picked(plan)}
      ${this.#table(plan, results.points)}
      ${this.#closedForms(plan)}
      ${this.#files(plan)}`;
  }

  #picked(plan: SweepPlan): TemplateResult {
    const { app, state } = this;
    const { picked, results } = state.answer.value;
    const say = app.text.say(words);
    const point = picked === null ? undefined : results?.points.find((one) => numberOf(plan, one) === picked);
    if (picked === null || point === undefined) return html`<p class="sweep-picked" role="status"></p>`;
    const values = plan.metrics.flatMap((metric) => {
      const cell = point.metrics[metric];
      return cell === undefined ? [] : [say('picked.value', { name: metricName(app, metric), value: cellText(app, metric, cell) })];
    });
    return html`<p class="sweep-picked" role="status" data-picked=${picked}>${say('picked', { settings: settingsName(app, point.point), values: point.error === undefined ? app.text.list(values) : state.whyNot(picked) })}
      ${this.#open(state.answer.value.link)}</p>`;
  }

  #open(link: string): TemplateResult {
    const { app } = this;
    const open = (event: Event): void => {
      event.preventDefault();
      app.take({ values: parseLink(link).scenario });
      document.querySelector<HTMLElement>('#results')?.scrollIntoView();
    };
    return html`<a href=${`#${link}`} data-action="open" data-link=${link} @click=${open}>${app.text.say(words)('open')}</a>`;
  }

  #table(plan: SweepPlan, points: readonly SweepPoint[]): TemplateResult {
    const { app, state } = this;
    const say = app.text.say(words);
    const shown = points.slice(0, MOST_ROWS);
    return html`
      <details class="fold" data-fold="sweep-numbers"><summary><h3>${say('numbers')}</h3></summary>
        <div class="table-scroll" tabindex="0" role="region" aria-label=${say('numbers')}><table>
          <thead><tr>${plan.over.map(({ path }) => html`<th scope="col">${parameterName(app, path)}</th>`)}${plan.metrics.map((metric) => html`<th scope="col">${metricName(app, metric)}</th>`)}</tr></thead>
          <tbody>${shown.map((point) => html`<tr data-point=${JSON.stringify(point.point)}>
            ${plan.over.map(({ path }, place) => place === 0 ? html`<th scope="row"><button type="button" class="quiet" @click=${() => { void state.pick(numberOf(plan, point)); }}>${parameterValue(app, path, point.point[path] ?? '')}</button></th>` : html`<th scope="row">${parameterValue(app, path, point.point[path] ?? '')}</th>`)}
            ${plan.metrics.map((metric) => {
              const cell = point.metrics[metric];
              return cell === undefined ? html`<td></td>` : html`<td data-cell=${metric} data-mean=${cell.mean ?? ''} data-low=${cell.low ?? ''} data-high=${cell.high ?? ''} data-seeds=${cell.seeds}>${cellText(app, metric, cell)}</td>`;
            })}</tr>`)}</tbody></table></div>
        ${points.length > MOST_ROWS ? html`<p class="sweep-note">${say('rows', { shown: MOST_ROWS, all: points.length })}</p>` : nothing}
      </details>`;
  }

  /** What closed forms of queueing theory say of the metrics, and what breaks them. */
  #closedForms(plan: SweepPlan): TemplateResult {
    const { app } = this;
    const say = app.text.say(words);
    const reported = plan.metrics.map((metric, place) => {
      const expected = plan.expected[place] ?? null;
      const name = metricName(app, metric);
      if (expected === null) return html`<li data-closed-form="" data-metric-path=${metric}>${say('closed_forms.none', { name })}</li>`;
      const { points, obstacles } = expected;
      const forms = [...new Set(points.flatMap((point) => (point === null ? [] : [point.model])))];
      const held = points.filter((point) => point !== null).length;
      return html`<li data-closed-form=${forms.join()} data-metric-path=${metric}>
        ${held === 0 ? nothing : html`<p>${say('closed_forms.held', { name, forms: app.text.list(forms.map((form) => closedFormName(app, form))), n: held, all: points.length })}</p>`}
        ${held === points.length ? nothing : html`<p>${say('closed_forms.broken', { name, n: points.length - held, all: points.length })}</p>
          <ul>${obstacles.map((obstacle) => html`<li data-obstacle=${obstacle.path}>${obstacleText(app, obstacle)}</li>`)}</ul>`}</li>`;
    });
    return html`<details class="fold" data-fold="sweep-closed-forms"><summary><h3>${say('closed_forms')}</h3></summary>
      <p class="sweep-note">${say('closed_forms.about')}</p><ul>${reported}</ul></details>`;
  }

  async #copy(command: string): Promise<void> {
    const { notices, text } = this.app;
    if (await copied(this.app, command)) notices.info('sweep_command_copied', () => text.say(words)('command.copied'));
  }

  #files(plan: SweepPlan): TemplateResult {
    const { app, state } = this;
    const say = app.text.say(words);
    return html`<div class="sweep-row">
      <button type="button" class="quiet" data-action="lines" @click=${() => { downloadText('sweep.jsonl', state.lines(), 'application/jsonl'); }}>${say('lines')}</button>
      <button type="button" class="quiet" data-action="csv" @click=${async () => { downloadText('sweep.csv', await state.csv(), 'text/csv'); }}>${say('csv')}</button>
      <button type="button" class="quiet" data-action="command" @click=${() => { void this.#copy(plan.command); }}>${say('command')}</button></div>`;
  }
}

customElements.define('sweep-section', SweepSection);
