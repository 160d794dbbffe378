// Every configuration of the grid with what the load needs of it, and on demand with what it can take and what that costs.
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import type { App } from '../app/app.js';
import { downloadText } from '../draw/export-chart.js';
import { refused } from '../ui/belonging-words.js';
import { definition } from '../ui/definition.js';
import { LightElement } from '../app/element.js';
import { copyVllmCommand } from '../ui/copy.js';
import { command, encodeLink, vllmServe } from '../simulation/module.js';
import { Refusal } from '../simulation/worker-link.js';
import { why } from '../i18n/en/why.js';
import { causeOf } from '../why/causes.js';
import type { Watchable } from '../lib/topic.js';
import { checkOf, chosenOf, larger, plannedReplicas, type CapacityState, type Row } from './capacity-state.js';
import { cannotRun, failuresLine } from './failures.js';
import { COLUMNS, HEADROOM, REPLICAS, sorted, USD, type Column } from './ranking-columns.js';
import { csvOf } from './ranking-csv.js';
import { rankingDetails } from './ranking-details.js';
import { missWords, quantileWords } from './miss.js';
import { capacity } from '../i18n/en/capacity.js';

/** Rank, configuration, replicas, price, headroom, simulation, limit. */
const WIDTH = 7;

export class RankingTable extends LightElement {
  static override properties = { ...LightElement.properties, search: { attribute: false }, sortKey: { state: true }, ascending: { state: true }, served: { state: true }, opened: { state: true } };
  declare search: CapacityState;
  declare sortKey: string | undefined;
  declare ascending: boolean | undefined;
  /** The last command of vLLM that was asked for. */
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
      <p class="sorting">${this.#sorting()}</p>
      <div class="who-scroll" tabindex="0" role="region" aria-labelledby="ranking-caption">
        <table class="who ranking">
          <caption id="ranking-caption">${say('grid.caption', { all: rows.length })}</caption>
          <thead><tr>
            <th scope="col">${say('column.rank')}</th><th scope="col">${say('column.configuration')}</th>
            ${[REPLICAS, USD, HEADROOM].map((of) => this.#heading(of))}
            <th scope="col">${definition('about-check', say('column.check'), say('check.about'))}</th>
            <th scope="col">${definition('about-limit', say('column.limit'), say('limit.about'))}</th>
          </tr></thead>
          <tbody>${repeat(shown, ({ place }) => place, (row) => html`${this.#row(row)}${this.opened?.has(row.place) === true ? html`<tr class="of-row"><td colspan=${WIDTH}>${rankingDetails(app, row)}</td></tr>` : nothing}`)}</tbody>
        </table>
      </div>
      ${failuresLine(app, rows, (row) => this.#name(row))}
      <div class="choices">
        <button type="button" @click=${() => { if (!refused(this.app, 'traffic')) downloadText('capacity.csv', this.#csv(), 'text/csv'); }}>${say('grid.csv')}</button>
      </div>
      ${this.served === undefined ? nothing : html`<pre class="served" tabindex="0" role="region" aria-label=${say('grid.serve')}>${this.served}</pre>`}
      <p class="about">${say('grid.rule')}</p>
      <p class="about">${say('grid.command')}: <code>${this.#command()}</code></p>`;
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
    return html`<label>${say('sort.by')} <select data-sort @change=${(event: Event) => { this.#sort((event.target as HTMLSelectElement).value); }}>
        <option value="" .selected=${this.sortKey === undefined}>${say('column.rank')}</option>
        ${COLUMNS.map(({ key, name }) => html`<option value=${name} .selected=${this.sortKey === name}>${say(key, { quantile })}</option>`)}</select></label>
      <button type="button" class="quiet" data-action="turn-order" ?disabled=${this.sortKey === undefined} @click=${() => { this.ascending = this.ascending === false; }}>${say(this.ascending === false ? 'sort.descending' : 'sort.ascending')}</button>`;
  }

  #sort(name: string): void {
    this.ascending = this.sortKey === name ? this.ascending === false : true;
    this.sortKey = name === '' ? undefined : name;
  }

  /** What a configuration is told by: the values of the axes. */
  #name({ values }: Row): string {
    const { axes } = this.search.answer.value;
    const named = values.flatMap((value, axis) => {
      const id = axes[axis] ?? '';
      const parameter = this.app.parameters.get(id);
      if (value === '') return [];
      const shown = axisValue(this.app, id, value);
      // A GPU and a model say themselves what they are.
      return [parameter === undefined || parameter.type === 'choice' ? shown : `${this.app.text.label(parameter)} ${shown}`];
    });
    return named.length === 0 ? this.app.text.say(capacity)('configuration.present') : this.app.text.list(named);
  }

  #row(row: Row): TemplateResult {
    const { app, search } = this;
    const say = app.text.say(capacity);
    const { standing } = row;
    const picked = search.shown?.place === row.place;
    return html`
      <tr aria-current=${picked ? 'true' : 'false'} data-configuration=${row.place} data-rank=${standing?.rank ?? ''} data-unranked=${standing?.unranked ?? ''}>
        <td>${standing?.rank ?? '–'}</td>
        <td class="configuration"><button type="button" class="quiet" title=${say('grid.show')} @click=${() => { search.chosen.set(row.place); }}>${this.#name(row)}</button>
          ${row.capacity === null ? nothing : html`<span class="row-actions">${this.#actions(row)}</span>`}</td>
        <td data-cautious=${standing?.need?.cautious_replicas ?? ''}>${this.#replicas(row)}</td>
        <td>${app.text.format.of(USD.kind, USD.of(row))}</td>
        <td data-tight=${standing?.need?.is_tight ?? nothing}>${this.#headroom(row)}
          ${standing?.need?.is_tight === true ? html`<small class="tight">${definition(`about-tight-${String(row.place)}`, say('headroom.tight'), say('headroom.tight.about'))}</small>` : nothing}</td>
        <td class="reason" data-check=${checkState(row)} data-digest=${checkOf(row)?.digest ?? ''}>${this.#check(row)}</td>
        <td class="reason" data-limit=${row.capacity?.binding?.parameter ?? row.checks.at(-1)?.limit?.cause ?? ''}>${this.#limit(row)}</td>
      </tr>`;
  }

  /** How many, of how many GPUs, and how many where the times are off as far as they were off elsewhere. */
  #replicas({ standing, capacity: found }: Row): TemplateResult | string {
    const need = standing?.need;
    const { text } = this.app;
    if (need === undefined || need === null) return '–';
    const say = text.say(capacity);
    const error = larger(found?.expected_error ?? null);
    const { cautious_replicas: cautious, replicas, gpus } = need;
    return html`${text.format.whole(replicas)} <small>${say('replicas.gpus', { gpus })}</small>
      ${error === null || cautious === null ? nothing : html`<small class="cautious">${say('replicas.cautious', { replicas: cautious, error: text.format.share(error) })}</small>`}`;
  }

  /** A share of several hundred per cent is read as a factor. */
  #headroom(row: Row): string {
    const { format } = this.app.text;
    const share = HEADROOM.of(row);
    return share !== null && share >= 1 ? this.app.text.say(capacity)('headroom.times', { times: format.short(1 + share) }) : format.of(HEADROOM.kind, share);
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
      ${row.scenario['scheduler.kind'] === 'vllm_v1' ? html`<button type="button" class="quiet serve" title=${say('grid.serve.about')} @click=${() => { void this.#serve(row); }}>${say('grid.serve')}</button>` : nothing}
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

  /** A limit of the scheduler without which more is served, or what most of the delays come from. */
  #limit({ checks, capacity: found }: Row): string {
    const { text } = this.app;
    const say = text.say(capacity);
    const { format } = text;
    const binding = found?.binding ?? null;
    if (binding !== null) {
      const parameter = this.app.parameters.get(binding.parameter);
      return say('limit.binding', { name: parameter === undefined ? '' : text.label(parameter), value: format.whole(binding.value), raised: format.whole(binding.raised), rate: format.short(binding.rate_rps) });
    }
    const limit = checks.at(-1)?.limit;
    if (limit === undefined || limit === null) return '–';
    return say('limit.told', { cause: text.say(why)(causeOf(limit.cause)), share: format.share(limit.share) });
  }

  #command(): string {
    const { app } = this;
    return command(app.store.values.value, app.traceFile.info.value?.name ?? '').replace('servescope simulate', 'servescope capacity');
  }

  /** In the order of the ranking, as the terminal's. */
  #csv(): string {
    const { rows, axes, columns } = this.search.answer.value;
    return csvOf(rows, axes, columns);
  }

  /** What the simulated replicas showed at the load, or why there are none. */
  #check(row: Row): string {
    const { checks, errors } = row;
    const { text } = this.app;
    const say = text.say(capacity);
    if (errors.length > 0) return say('check.not', { message: text.diagnostics(errors) });
    if (checks.length === 0) return '–';
    const reported = checks.map(({ miss, replicas }) => (miss === null ? say('check.holds', { n: replicas }) : say('check.fails', { n: replicas, reason: missWords(this.app, miss) })));
    const within = checkOf(row)?.in_slo;
    return [...reported, ...(within === undefined ? [] : [say('check.in_slo', { share: text.format.share(within) })])].join('; ');
  }
}

/** A value of an axis as the reader knows it. */
export function axisValue(app: App, id: string, value: string): string {
  const parameter = app.parameters.get(id);
  return parameter === undefined ? app.text.option(value, id) : app.text.choice(parameter, value);
}

function checkState(row: Row): string {
  const check = row.checks.at(-1);
  return check === undefined ? '' : check.miss === null ? 'holds' : 'fails';
}

customElements.define('ranking-table', RankingTable);
