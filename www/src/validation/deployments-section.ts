// Measured deployments of real servers: predicted against measured, how far off by GPU, model and engine, and what each one was.
import { html, nothing, type TemplateResult } from 'lit';
import '../draw/chart-view.js';
import { LightElement } from '../app/element.js';
import { measured as texts } from '../i18n/en/measured.js';
import type { Say } from '../i18n/area.js';
import type { RelativeErrors } from '../simulation/types.js';
import type { Watchable } from '../lib/topic.js';
import type { DeploymentsState } from './deployments-state.js';
import { IN_FLIGHT, isBorrowed, passes, reasonsOf, valuesOf, type Errors, type Group, type Line, type Measure, type Reason, type Row, type Times } from './deployments.js';
import { errorText, signedError } from '../measured-run/errors.js';

const MEASURES: readonly Measure[] = ['ttft', 'tpot'];
const NONE = '–';

export class DeploymentsSection extends LightElement {
  static override properties = { ...LightElement.properties, deployments: { attribute: false } };
  declare deployments: DeploymentsState;

  protected override watched(): Watchable[] {
    return [this.deployments.shown, this.deployments.file, this.deployments.failure];
  }

  protected override render(): TemplateResult {
    const { app, deployments } = this;
    const say = this.#say;
    const file = deployments.file.value;
    const failure = deployments.failure.value;
    this.dataset['state'] = failure !== '' ? 'failed' : file === null ? 'running' : 'ready';
    return html`
      <section aria-labelledby="deployments-title"><h2 id="deployments-title">${say('title')}</h2>
        <p class="published-note">${say('intro')}</p>
        ${failure === '' ? nothing : html`<p class="notice error">${say('failed', { why: failure })}</p>`}
        ${this.#filter()}
        <div class="published-grid deployments-grid">${MEASURES.map((measure) => html`
          <chart-view .app=${app} .name=${`deployments_${measure}`} .feed=${deployments.feed}></chart-view>`)}</div>
        ${file === null ? nothing : html`${this.#picked()}${this.#table()}${this.#reasons()}
          <p class="published-source">${file.source} ${say('computed')} <code>${file.command}</code>. <a href="published/deployments.json" download>${say('file')}</a></p>`}
      </section>`;
  }

  get #say(): Say<typeof texts> {
    return this.app.text.say(texts);
  }

  #filter(): TemplateResult {
    const { deployments } = this;
    const say = this.#say;
    const { filter } = deployments.shown.value;
    // What the other choices leave, and what is chosen.
    const values = (of: 'model' | 'gpu' | 'backend'): [string, string][] =>
      valuesOf(deployments.rows.filter((row) => row.deployment[of] === filter[of] || passes({ ...filter, [of]: '' }, row)), of)
        .map((value) => [value, of === 'backend' ? deployments.backendName(value) : value]);
    const ranges = IN_FLIGHT.map(([from, to], place): [string, string] => [String(place), to === Infinity ? say('more_than', { from: from - 1 }) : say('from_to', { from, to })]);
    const choice = (key: 'model' | 'gpu' | 'backend' | 'in_flight', options: readonly [string, string][]): TemplateResult => html`
      <label>${say(`group.${key}`)} <select data-filter=${key} @change=${(event: Event) => { deployments.choose({ [key]: (event.target as HTMLSelectElement).value }); }}>
        <option value="" .selected=${filter[key] === ''}>${say('every')}</option>
        ${options.map(([value, name]) => html`<option value=${value} .selected=${filter[key] === value}>${name}</option>`)}
      </select></label>`;
    const flag = (key: 'doubtful' | 'both'): TemplateResult => html`
      <label><input type="checkbox" data-filter=${key} .checked=${filter[key]} @change=${(event: Event) => { deployments.choose({ [key]: (event.target as HTMLInputElement).checked }); }}> ${say(`filter.${key}`)}</label>`;
    return html`<div class="published-choice" role="group" aria-label=${say('filter')}>
      ${choice('model', values('model'))}${choice('gpu', values('gpu'))}${choice('backend', values('backend'))}${choice('in_flight', ranges)}${flag('doubtful')}${flag('both')}</div>`;
  }

  /** The deployment that is looked at, and the way to those beside it. */
  #picked(): TemplateResult {
    const { deployments } = this;
    const say = this.#say;
    const { picked, answered } = deployments.shown.value;
    const button = (by: 1 | -1): TemplateResult => html`
      <button type="button" class="quiet" data-action=${by < 0 ? 'before' : 'next'} ?disabled=${answered.length === 0} @click=${() => { deployments.leaf(by); }}>${say(by < 0 ? 'before' : 'next')}</button>`;
    return html`
      <div class="deployments-picked" role="region" aria-label=${say('picked')}>
        <p class="deployments-leaf">${button(-1)}${button(1)}<span aria-live="polite">${picked === null ? say('pick') : say('place', { place: answered.indexOf(picked) + 1, all: answered.length })}</span></p>
        ${picked === null ? nothing : this.#row(picked)}
      </div>`;
  }

  #row(row: Row): TemplateResult {
    const { app, deployments } = this;
    const say = this.#say;
    const { format } = app.text;
    const cells = (times: Times | null): TemplateResult[] => MEASURES.map((measure) => {
      const value = times?.[measure];
      const error = value === undefined || times === row.measured ? '' : ` (${signedError(format, value / row.measured[measure] - 1)})`;
      return html`<td>${value === undefined ? NONE : `${format.seconds(value)}${error}`}</td>`;
    });
    const line = (who: 'measured' | 'own' | 'aiconfigurator', times: Times | null): TemplateResult => html`<tr data-who=${who}><th scope="row">${say(who)}</th>${cells(times)}</tr>`;
    const half = isBorrowed(row) ? say('note.borrowed') : row.deployment.is_left_out ? say('note.left_out') : say('note.calibrated');
    return html`
      <h3 data-deployment=${row.id}>${deployments.nameOf(row)}</h3>
      <table><thead><tr><td></td>${MEASURES.map((measure) => html`<th scope="col">${say(`mean.${measure}`)}</th>`)}</tr></thead>
        <tbody>${line('measured', row.measured)}${line('own', row.own)}${line('aiconfigurator', row.aiconfigurator)}</tbody></table>
      <p class="published-note">${app.text.find(texts, `times.${row.times ?? ''}`)} ${half} ${row.is_doubtful ? say('note.doubtful') : nothing}</p>
      <p>${row.link === null ? say('no_link') : html`<a data-action="open" href="#${row.link}">${say('open')}</a> ${say('open.note')}`}</p>`;
  }

  #table(): TemplateResult {
    const say = this.#say;
    const { table } = this.deployments.shown.value;
    const heads = MEASURES.map((measure) => html`<th scope="colgroup" colspan="3">${say(`mean.${measure}`)}</th>`);
    const names = html`<th scope="col">${say('median')}</th><th scope="col">${say('mean')}</th><th scope="col">${say('bias')}</th>`;
    const of = (who: 'own' | 'aiconfigurator'): TemplateResult => html`<th scope="colgroup" colspan="7">${say(who)}</th>`;
    const answered = html`<th scope="col" rowspan="2">${say('answered')}</th>`;
    return html`
      <p class="published-note" id="deployments-caption">${say('table')}</p>
      <div class="who-scroll" tabindex="0" role="region" aria-labelledby="deployments-caption">
        <table class="who published deployments" aria-describedby="deployments-caption">
          <thead>
            <tr><td rowspan="3"></td><th scope="col" rowspan="3">${say('rows')}</th>${of('own')}${of('aiconfigurator')}</tr>
            <tr>${answered}${heads}${answered}${heads}</tr>
            <tr>${names}${names}${names}${names}</tr>
          </thead>
          ${table.map((group) => this.#group(group))}
        </table>
      </div>`;
  }

  #group({ by, lines }: Group): TemplateResult {
    const say = this.#say;
    const head = by === 'all' ? nothing : html`<tr><th class="deployments-by" scope="rowgroup" colspan="16">${say(`group.${by}`)}</th></tr>`;
    return html`<tbody data-by=${by}>${head}${lines.map((line) => this.#line(by, line))}</tbody>`;
  }

  #line(by: Group['by'], { value, rows, own, aiconfigurator }: Line): TemplateResult {
    const { app, deployments } = this;
    const say = this.#say;
    const name = by === 'all' ? say('all') : by === 'half' ? (app.text.find(texts, `role.${value}`) ?? value) : by === 'backend' ? deployments.backendName(value) : by === 'mode' ? (app.text.find(texts, `mode.${value}`) ?? value) : value;
    const { format } = app.text;
    const errors = (who: 'own' | 'aiconfigurator', errors: Errors): TemplateResult => html`
      <td>${format.whole(errors.ttft?.count ?? 0)}</td>${MEASURES.map((measure) => this.#errors(`${who}.${measure}`, errors[measure]))}`;
    return html`<tr data-value=${value}><th scope="row">${name}</th><td>${format.whole(rows)}</td>${errors('own', own)}${errors('aiconfigurator', aiconfigurator)}</tr>`;
  }

  #errors(of: string, errors: RelativeErrors | null): TemplateResult {
    if (errors === null) return html`<td>${NONE}</td><td>${NONE}</td><td>${NONE}</td>`;
    const { format } = this.app.text;
    return html`<td class="deployments-median" data-errors=${of} data-median=${errors.median} data-mean=${errors.mean} data-bias=${errors.bias} data-count=${errors.count}>${errorText(format, errors.median)}</td>
      <td>${errorText(format, errors.mean)}</td><td>${signedError(format, errors.bias)}</td>`;
  }

  #reasons(): TemplateResult {
    const say = this.#say;
    const { passed, answered } = this.deployments.shown.value;
    const reasons = reasonsOf(passed);
    const { format } = this.app.text;
    return html`
      <p data-not-answered=${passed.length - answered.length}>${say('not_answered', { count: passed.length - answered.length, rows: passed.length })}</p>
      <ul class="deployments-reasons">${reasons.map(({ reason, rows }) => html`<li data-reason=${codeOf(reason)}>${format.whole(rows)}: ${this.#reason(reason)}</li>`)}</ul>`;
  }

  #reason(reason: Reason): string {
    const code = codeOf(reason);
    const text = this.app.text.find(texts, `reason.${code}`) ?? code;
    return typeof reason === 'string' ? text : `${text}: ${Object.values(reason).join(', ')}`;
  }
}

function codeOf(reason: Reason): string {
  return typeof reason === 'string' ? reason : (Object.keys(reason)[0] ?? '');
}

customElements.define('deployments-section', DeploymentsSection);
