// Every configuration of the grid with what the load needs of it, and on demand with what it can take and what that costs.
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import { downloadText } from '../draw/export-chart.js';
import { refused } from '../ui/belonging-words.js';
import { definition } from '../ui/definition.js';
import { LightElement } from '../app/element.js';
import { copyVllmCommand } from '../ui/copy.js';
import { command, encodeLink, vllmServe } from '../simulation/module.js';
import { Refusal } from '../simulation/worker-link.js';
import type { Watchable } from '../lib/topic.js';
import { checkOf, chosenOf, plannedReplicas, type CapacityState, type Row } from './capacity-state.js';
import { cannotRun, failuresLine } from './failures.js';
import { COLUMNS, HEADROOM, PER_MILLION, REPLICAS, sorted, USD, type Column } from './ranking-columns.js';
import { csvOf } from './ranking-csv.js';
import { rankingDetails } from './ranking-details.js';
import { quantileWords } from './miss.js';
import { checkState, checkWords, configurationName, headroomWords, limitOf, tightMark } from './row-words.js';
import { capacity } from '../i18n/en/capacity.js';

/** Schedulers whose servers are started by a command that is known. */
const STARTED: readonly unknown[] = ['vllm_v1', 'sglang', 'trtllm'];

function hasCommand(scheduler: unknown): boolean {
  return STARTED.includes(scheduler);
}

/** Rank, configuration, replicas, the two prices, headroom, SLO met. */
const WIDTH = 7;

export class RankingTable extends LightElement {
  static override properties = { ...LightElement.properties, search: { attribute: false }, sortKey: { state: true }, ascending: { state: true }, served: { state: true }, opened: { state: true } };
  declare search: CapacityState;
  declare sortKey: string | undefined;
  declare ascending: boolean | undefined;
  /** The last launch command that was asked for. */
  declare served: string | undefined;
  /** The configurations whose details are shown. */
  declare opened: ReadonlySet<number> | undefined;

  protected override watched(): Watchable[] {
    return [this.search.answer, this.search.chosen];
  }

  protected override render(): TemplateResult {
    const { app, search } = this;
    const say = app.text.say(capacity);
    const { rows } = search.answer.value;
    const column = COLUMNS.find(({ name }) => name === this.sortKey);
    const shown = sorted(rows.filter((row) => !cannotRun(row)), column, this.ascending ?? true);
    return html`
      ${this.#sorting()}
      <div class="who-scroll" tabindex="0" role="region" aria-labelledby="ranking-caption">
        <table class="who ranking">
          <caption id="ranking-caption">${say('grid.caption', { all: rows.length })}</caption>
          <thead><tr>
            <th scope="col">${say('column.rank')}</th><th scope="col">${say('column.configuration')}</th>
            ${[REPLICAS, USD, PER_MILLION, HEADROOM].map((of) => this.#heading(of))}
            <th scope="col">${definition('about-check', say('column.in_slo'), say('check.about'))}</th>
          </tr></thead>
          <tbody>${repeat(shown, ({ place }) => place, (row) => html`${this.#row(row)}${this.opened?.has(row.place) === true ? html`<tr class="of-row"><td colspan=${WIDTH}>${rankingDetails(app, row)}</td></tr>` : nothing}`)}</tbody>
        </table>
      </div>
      ${failuresLine(app, rows, (row) => this.#name(row))}
      <div class="choices">
        <button type="button" @click=${() => { if (!refused(this.app, 'traffic')) downloadText('capacity.csv', this.#csv(), 'text/csv'); }}>${say('grid.csv')}</button>
        <button type="button" class="quiet" data-action="print" @click=${() => { print(); }}>${say('print')}</button>
      </div>
      ${this.served === undefined ? nothing : html`<pre class="served" tabindex="0" role="region" aria-label=${say('grid.serve')}>${this.served}</pre>`}
      <p class="about whole">${say('grid.command')}: <code>${this.#command()}</code></p>`;
  }

  #heading({ key, name }: Column): TemplateResult {
    const active = this.sortKey === name;
    const title = this.app.text.say(capacity)(key, { quantile: quantileWords(this.app) });
    return html`<th scope="col" data-column=${name} aria-sort=${active ? (this.ascending === false ? 'descending' : 'ascending') : 'none'}>
      <button type="button" class="quiet sort" title=${this.app.text.t('who.sort', { column: title })} @click=${() => { this.#sort(name); }}>${title}<i aria-hidden="true">${active ? (this.ascending === false ? '↓' : '↑') : ''}</i></button></th>`;
  }

  /** Also by numbers that are shown on demand. */
  #sorting(): TemplateResult {
    const say = this.app.text.say(capacity);
    const quantile = quantileWords(this.app);
    return html`<p class="sorting"><label>${say('sort.by')} <select data-sort @change=${(event: Event) => { this.#sort((event.target as HTMLSelectElement).value); }}>
        <option value="" .selected=${this.sortKey === undefined}>${say('column.rank')}</option>
        ${COLUMNS.map(({ key, name }) => html`<option value=${name} .selected=${this.sortKey === name}>${say(key, { quantile })}</option>`)}</select></label>
      <button type="button" class="quiet" data-action="turn-order" ?disabled=${this.sortKey === undefined} @click=${() => { this.ascending = this.ascending === false; }}>${say(this.ascending === false ? 'sort.descending' : 'sort.ascending')}</button></p>`;
  }

  #sort(name: string): void {
    this.ascending = this.sortKey === name ? this.ascending === false : true;
    this.sortKey = name === '' ? undefined : name;
  }

  #name(row: Row): string {
    return configurationName(this.app, this.search.answer.value.axes, row);
  }

  #row(row: Row): TemplateResult {
    const { app, search } = this;
    const say = app.text.say(capacity);
    const { standing } = row;
    const picked = search.shown?.place === row.place;
    return html`
      <tr aria-current=${picked ? 'true' : 'false'} data-configuration=${row.place} data-rank=${standing?.rank ?? ''} data-unranked=${standing?.unranked ?? ''} data-limit=${limitOf(app, row)?.by ?? ''}>
        <td>${standing?.rank ?? '–'}</td>
        <td><div class="configuration"><button type="button" class="quiet" title=${say('grid.show')} @click=${() => { search.chosen.set(row.place); }}>${this.#name(row)}</button>
          ${row.capacity === null ? nothing : html`<span class="row-actions">${this.#actions(row)}</span>`}</div></td>
        <td data-cautious=${standing?.need?.cautious_replicas ?? ''}>${this.#replicas(row)}</td>
        <td>${app.text.format.of(USD.kind, USD.of(row))}</td>
        <td>${app.text.format.of(PER_MILLION.kind, PER_MILLION.of(row))}</td>
        <td data-tight=${standing?.need?.is_tight ?? nothing}>${tightMark(app, row, `about-tight-${String(row.place)}`)} ${headroomWords(app, row)}</td>
        <td data-check=${checkState(row)} data-digest=${checkOf(row)?.digest ?? ''} title=${checkWords(app, row)}>${this.#slo(row)}</td>
      </tr>`;
  }

  /** How many, and how many where the times are off as far as they were off elsewhere. */
  #replicas({ standing, place }: Row): TemplateResult | string {
    const need = standing?.need;
    const { text } = this.app;
    if (need === undefined || need === null) return '–';
    const say = text.say(capacity);
    const { cautious_replicas: cautious, replicas } = need;
    const isMore = cautious !== null && cautious > replicas;
    return html`${text.format.whole(replicas)} ${isMore ? html`<small>${definition(`about-cautious-${String(place)}`, say('replicas.cautious', { replicas: cautious }), say('replicas.cautious.about'))}</small>` : nothing}`;
  }

  /** The share of requests within the SLO; of what fails, that it does. */
  #slo(row: Row): string {
    const say = this.app.text.say(capacity);
    const state = checkState(row);
    if (state === 'fails') return say('check.failed');
    return this.app.text.format.of('share', checkOf(row)?.in_slo ?? null);
  }

  #actions(row: Row): TemplateResult {
    const { app, search } = this;
    const say = app.text.say(capacity);
    const scenario = chosenOf(row);
    const open = (event: Event): void => {
      event.preventDefault();
      search.take(row, scenario, 'explore');
    };
    const isOpen = this.opened?.has(row.place) === true;
    return html`<button type="button" class="quiet use" title=${say('grid.use_these')} @click=${() => { this.#use(row); }}>${say('grid.use')}</button>
      <a class="explore" href=${`#${encodeLink(scenario)}`} title=${say('grid.explore.about')} @click=${open}>${say('grid.explore')}</a>
      ${hasCommand(row.scenario['scheduler.kind'] ?? app.store.resolved.defaults['scheduler.kind']) ? html`<button type="button" class="quiet serve" title=${say('grid.serve.about')} @click=${() => { void this.#serve(row); }}>${say('grid.serve')}</button>` : nothing}
      <button type="button" class="quiet" data-action="details" aria-expanded=${isOpen} @click=${() => { this.#toggle(row.place); }}>${say('grid.details')}</button>`;
  }

  #toggle(place: number): void {
    const opened = new Set(this.opened ?? []);
    if (!opened.delete(place)) opened.add(place);
    this.opened = opened;
  }

  /** Takes the configuration over, with the replicas that the load needs; the ranking stays. */
  #use(row: Row): void {
    const { app, search } = this;
    search.take(row, { ...row.scenario, ...plannedReplicas(row) }, 'plan');
    const name = this.#name(row);
    app.notices.info('configuration_used', () => app.text.say(capacity)('grid.used', { name }));
  }

  async #serve(row: Row): Promise<void> {
    const { app } = this;
    try {
      const text = vllmServe(chosenOf(row), app.traceFile.info.value?.traffic);
      this.served = text;
      await copyVllmCommand(app, text);
    } catch (thrown) {
      const errors = thrown instanceof Refusal ? thrown.errors : [];
      app.notices.error('export_failed', () => app.text.t('notice.export_failed', { message: app.text.diagnostics(errors) }));
    }
  }

  #command(): string {
    const { app, search } = this;
    return command(search.searched, app.traceFile.info.value?.name ?? '').replace('servescope simulate', 'servescope capacity');
  }

  /** In the order of the ranking, as the terminal's. */
  #csv(): string {
    const { rows, axes, columns } = this.search.answer.value;
    return csvOf(rows, axes, columns);
  }
}

customElements.define('ranking-table', RankingTable);
