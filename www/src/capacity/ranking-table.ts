// Every configuration of the grid with what it can take, what that costs, and why it takes no more.
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import type { App } from '../app.js';
import { downloadText } from '../draw/export-chart.js';
import { refused } from '../belonging-words.js';
import { definition } from '../definition.js';
import { LightElement } from '../element.js';
import { copied } from '../copy.js';
import { command, encodeLink } from '../simulation/module.js';
import { Refusal } from '../simulation/worker-link.js';
import { why } from '../i18n/en/why.js';
import { causeOf } from '../why/causes.js';
import type { NumberKind } from '../i18n/format.js';
import type { Watchable } from '../state/topic.js';
import { checkOf, chosenOf, type CapacityState, type Row } from './capacity-state.js';
import { csvOf } from './ranking-csv.js';
import { missWords, quantileWords } from './miss.js';
import { priced, priceWords } from './price-words.js';
import { capacity } from '../i18n/en/capacity.js';

interface Column { key: `column.${'load_replicas' | 'load_gpus' | 'load_usd' | 'headroom' | 'in_slo' | 'rate' | 'per_usd' | 'ttft' | 'tbt' | 'tpot' | 'gpu_usd'}`; name: string; kind: NumberKind; of: (row: Row) => number | null }

/** What the load takes, before what was simulated and what can be done with it. */
const OF_LOAD: readonly Column[] = [
  { key: 'column.load_replicas', name: 'load_replicas', kind: 'count', of: ({ standing }) => standing?.need?.replicas ?? null },
  { key: 'column.load_gpus', name: 'load_gpus', kind: 'count', of: ({ standing }) => standing?.need?.gpus ?? null },
  { key: 'column.load_usd', name: 'load_usd_per_hour', kind: 'number', of: ({ standing }) => standing?.need?.usd_per_hour ?? null },
  { key: 'column.headroom', name: 'headroom', kind: 'share', of: ({ standing }) => standing?.need?.headroom ?? null },
  { key: 'column.in_slo', name: 'in_slo', kind: 'share', of: (row) => checkOf(row)?.in_slo ?? null },
];

const OF_CAPACITY: readonly Column[] = [
  { key: 'column.rate', name: 'rate_rps', kind: 'number', of: ({ capacity }) => capacity?.rate_rps ?? null },
  { key: 'column.per_usd', name: 'requests_per_usd', kind: 'count', of: ({ standing }) => standing?.requests_per_usd ?? null },
  { key: 'column.ttft', name: 'ttft_s', kind: 'seconds', of: ({ capacity }) => capacity?.measures?.quantile_s[0] ?? null },
  { key: 'column.tbt', name: 'tbt_s', kind: 'seconds', of: ({ capacity }) => capacity?.measures?.quantile_s[1] ?? null },
  { key: 'column.tpot', name: 'tpot_s', kind: 'seconds', of: ({ capacity }) => capacity?.measures?.quantile_s[4] ?? null },
  { key: 'column.gpu_usd', name: 'usd_per_gpu_hour', kind: 'number', of: ({ capacity }) => capacity?.price.usd_per_gpu_hour ?? null },
];

const COLUMNS = [...OF_LOAD, ...OF_CAPACITY];

export class RankingTable extends LightElement {
  static override properties = { ...LightElement.properties, search: { attribute: false }, sortKey: { state: true }, ascending: { state: true }, served: { state: true } };
  declare search: CapacityState;
  declare sortKey: string | undefined;
  declare ascending: boolean;
  /** The last command of vLLM that was asked for. */
  declare served: string | undefined;

  protected override watched(): Watchable[] {
    return [this.search.answer, this.search.chosen];
  }

  protected override render(): TemplateResult {
    const { app, search } = this;
    const say = app.text.say(capacity);
    const { axes, rows } = search.answer.value;
    const quantile = quantileWords(app);
    const label = (id: string): string => {
      const parameter = app.schema.parameters.find((other) => other.id === id);
      return parameter === undefined ? id : app.text.label(parameter);
    };
    const heading = ({ key, name }: Column): TemplateResult => this.#heading(say(key, { quantile }), name);
    return html`
      <div class="who-scroll" tabindex="0" role="region" aria-labelledby="ranking-caption">
        <table class="who ranking">
          <caption id="ranking-caption">${say('grid.caption', { all: rows.length })}</caption>
          <thead><tr>
            <th scope="col">${say('column.rank')}</th>${axes.map((id) => html`<th scope="col">${label(id)}</th>`)}
            ${OF_LOAD.map(heading)}
            <th scope="col">${definition('about-check', say('column.check'), say('check.about'))}</th><td></td><th scope="col">${say('column.limit')}</th>
            ${OF_CAPACITY.map(heading)}
            <th scope="col">${say('column.reason')}</th><th scope="col">${say('column.price')}</th><th scope="col">${say('column.front')}</th>
          </tr></thead>
          <tbody>${repeat(this.#sorted(), ({ place }) => place, (row) => this.#row(row))}</tbody>
        </table>
      </div>
      <div class="choices">
        <button type="button" @click=${() => { if (!refused(this.app, 'traffic')) downloadText('capacity.csv', this.#csv(), 'text/csv'); }}>${say('grid.csv')}</button>
      </div>
      ${this.served === undefined ? nothing : html`<pre class="served" tabindex="0" role="region" aria-label=${say('grid.serve')}>${this.served}</pre>`}
      <p class="about">${say('grid.rule')}</p>
      <p class="about">${say('grid.command')}: <code>${this.#command()}</code></p>`;
  }

  #heading(title: string, name: string): TemplateResult {
    const active = this.sortKey === name;
    return html`<th scope="col" data-column=${name} aria-sort=${active ? (this.ascending ? 'ascending' : 'descending') : 'none'}>
      <button type="button" class="quiet sort" title=${this.app.text.t('who.sort', { column: title })} @click=${() => {
        this.ascending = active && !this.ascending;
        this.sortKey = name;
      }}>${title}<i aria-hidden="true">${active ? (this.ascending ? '↑' : '↓') : ''}</i></button></th>`;
  }

  /** As ranked, unless a column was asked for; rows without its number come last. */
  #sorted(): readonly Row[] {
    const { rows } = this.search.answer.value;
    const column = COLUMNS.find(({ name }) => name === this.sortKey);
    if (column === undefined) return rows;
    const sign = this.ascending ? 1 : -1;
    return [...rows].sort((one, other) => {
      const [a, b] = [column.of(one), column.of(other)];
      if (a === null || b === null) return Number(a === null) - Number(b === null);
      return sign * (a - b);
    });
  }

  #row(row: Row): TemplateResult {
    const { app, search } = this;
    const say = app.text.say(capacity);
    const { standing } = row;
    const fronts = [standing?.is_on_ttft_front === true ? say('front.ttft') : '', standing?.is_on_tbt_front === true ? say('front.tbt') : ''];
    const picked = search.shown?.place === row.place;
    const number = ({ kind, of }: Column): TemplateResult => html`<td>${app.text.format.of(kind, of(row))}</td>`;
    return html`
      <tr aria-current=${picked ? 'true' : 'false'} data-configuration=${row.place} data-rank=${standing?.rank ?? ''} data-unranked=${standing?.unranked ?? ''}>
        <td>${standing?.rank ?? '–'}</td>
        ${row.values.map((value, i) => html`<td>${i === 0
          ? html`<button type="button" class="quiet" title=${say('grid.show')} @click=${() => { search.chosen.set(row.place); }}>${this.#value(value, i)}</button>`
          : this.#value(value, i)}</td>`)}
        ${OF_LOAD.map(number)}
        <td class="reason" data-check=${checkState(row)} data-digest=${checkOf(row)?.digest ?? ''}>${this.#check(row)}</td>
        <td class="row-actions">${row.capacity === null ? nothing : this.#actions(row)}</td>
        <td class="reason" data-limit=${row.checks.at(-1)?.limit?.cause ?? ''}>${this.#limit(row)}</td>
        ${OF_CAPACITY.map(number)}
        <td class="reason">${this.#reason(row)}</td>
        <td class="reason">${priced(row) ? priceWords(app, row) : '–'}</td>
        <td>${fronts.filter((front) => front !== '').join(' ')}</td>
      </tr>`;
  }

  #value(value: string, axis: number): string {
    return value === '' ? '–' : axisValue(this.app, this.search.answer.value.axes[axis] ?? '', value);
  }

  #reason({ capacity, standing }: Row): string {
    const { app } = this;
    if (capacity === null) return '';
    const reason = capacity.miss === null ? [] : [missWords(app, capacity.miss)];
    const price = standing?.unranked === 'no_price' ? [priceWords(app, { capacity })] : [];
    return [...price, ...reason, ...capacity.notes.map((note) => app.named(note))].join('; ');
  }

  #actions(row: Row): TemplateResult {
    const { app } = this;
    const say = app.text.say(capacity);
    const scenario = chosenOf(row);
    const open = (event: Event): void => {
      event.preventDefault();
      app.editor.replace(scenario, 'plan');
      app.show('explore');
    };
    return html`<button type="button" class="quiet use" title=${say('grid.use_these')} @click=${() => { this.#use(row); }}>${say('grid.use')}</button>
      <a class="explore" href=${`#${encodeLink(scenario)}`} title=${say('grid.explore.about')} @click=${open}>${say('grid.explore')}</a>
      ${row.scenario['scheduler.kind'] === 'vllm_v1' ? html`<button type="button" class="quiet serve" title=${say('grid.serve.about')} @click=${() => { void this.#serve(row); }}>${say('grid.serve')}</button>` : nothing}`;
  }

  /** Takes the configuration over, with the replicas that the load needs; the grid stays. */
  #use(row: Row): void {
    const replicas = row.standing?.need?.replicas;
    this.app.editor.replace({ ...row.scenario, ...(replicas === undefined ? {} : { 'fleet.replicas': replicas }) }, 'preset');
  }

  async #serve(row: Row): Promise<void> {
    const { app } = this;
    try {
      const text = await (await app.traceFile.studio()).call('vllm_serve', { scenario: chosenOf(row) });
      this.served = text;
      if (await copied(app, text)) app.notices.info('vllm_serve_copied', () => app.text.t('notice.vllm_serve_copied'));
    } catch (thrown) {
      const errors = thrown instanceof Refusal ? thrown.errors : [];
      app.notices.error('export_failed', () => app.text.t('notice.export_failed', { message: app.text.diagnostics(errors) }));
    }
  }

  /** What limits the deployment, where it was simulated. */
  #limit({ checks }: Row): string {
    const limit = checks.at(-1)?.limit;
    if (limit === undefined || limit === null) return '–';
    const { text } = this.app;
    return text.say(capacity)('limit.told', { cause: text.say(why)(causeOf(limit.cause)), share: text.format.share(limit.share) });
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
  #check({ checks, capacity: found, errors }: Row): string {
    const { text } = this.app;
    const say = text.say(capacity);
    if (errors.length > 0) return say(found === null ? 'cannot_run' : 'check.not', { message: text.diagnostics(errors) });
    if (checks.length === 0) return '–';
    const told = checks.map(({ miss, replicas }) => (miss === null ? say('check.holds', { n: replicas }) : say('check.fails', { n: replicas, reason: missWords(this.app, miss) })));
    return told.join('; ');
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
