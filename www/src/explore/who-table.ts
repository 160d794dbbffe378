// Users and adapters: the busiest ones, their expected share of requests beside the actual one.
import { html, nothing, svg, type TemplateResult } from 'lit';
import { clientRole } from '../ui/client-role.js';
import { LightElement } from '../app/element.js';
import type { GroupRow } from '../simulation/types.js';
import type { MessageKey } from '../i18n/text.js';
import type { NumberKind } from '../i18n/format.js';
import { partsOf, type Watchable } from '../lib/topic.js';

const SHOWN = 10;

interface Column { key: MessageKey; kind: NumberKind; of(row: GroupRow): number | null; bar?: boolean; adaptersOnly?: boolean }

const COLUMNS: readonly Column[] = [
  { key: 'who.rank', kind: 'count', of: (row) => (row.id < 0 ? null : row.rank), adaptersOnly: true },
  { key: 'who.offered', kind: 'count', of: (row) => row.offered },
  { key: 'who.rate', kind: 'number', of: (row) => row.rate_rps },
  { key: 'who.share', kind: 'share', of: (row) => row.share, bar: true },
  { key: 'who.expected', kind: 'share', of: (row) => row.expected_share, bar: true },
  { key: 'who.rejected', kind: 'count', of: (row) => row.rejected },
  { key: 'who.tokens', kind: 'count', of: (row) => row.input_tokens + row.output_tokens },
  { key: 'who.ttft', kind: 'seconds', of: (row) => row.ttft_mean_s },
  { key: 'who.ttft_p99', kind: 'seconds', of: (row) => row.ttft_p99_s },
  { key: 'who.e2e', kind: 'seconds', of: (row) => row.e2e_mean_s },
  { key: 'who.attainment', kind: 'share', of: (row) => row.attainment_all },
];

export class WhoTable extends LightElement {
  static override properties = { ...LightElement.properties, users: { state: true }, sortKey: { state: true }, ascending: { state: true } };
  /** Whether users are shown; undefined until the reader has chosen. */
  declare users: boolean | undefined;
  declare sortKey: MessageKey;
  declare ascending: boolean;

  constructor() {
    super();
    this.sortKey = 'who.offered';
    this.ascending = false;
  }

  protected override watched(): Watchable[] {
    return [partsOf(this.app.session, ({ answer }) => answer?.summary)];
  }

  protected override render(): TemplateResult {
    const { text, session } = this.app;
    const { t } = text;
    const summary = session.value.answer?.summary;
    // Without adapters that table has one row, the base model.
    const users = this.users ?? (summary !== undefined && summary.per_adapter.every(({ id }) => id < 0));
    const rows = (users ? summary?.per_user : summary?.per_adapter) ?? [];
    const columns = COLUMNS.filter((column) => !(users && column.adaptersOnly === true));
    const sort = columns.find((column) => column.key === this.sortKey) ?? COLUMNS[1];
    const sorted = sort === undefined ? rows : [...rows].sort((one, other) => this.#compare(sort.of(one), sort.of(other)));
    const shown = sorted.slice(0, SHOWN);
    const widest = Math.max(...shown.map((row) => Math.max(row.share, row.expected_share ?? 0)));
    return html`
      <div class="who-choice" role="group" aria-label=${t('section.who')}>
        <button type="button" class="quiet" aria-pressed=${!users} @click=${() => { this.users = false; }}>${t('who.adapters')}</button>
        <button type="button" class="quiet" aria-pressed=${users} @click=${() => { this.users = true; }}>${t('who.users')}</button>
      </div>
      <div class="who-scroll" tabindex="0" role="region" aria-labelledby="who-caption">
        <table class="who">
          <caption id="who-caption">${this.#caption(shown, users)}</caption>
          <thead><tr><th scope="col">${t(users ? 'who.user' : 'who.adapter')}</th>${columns.map((column) => this.#heading(column))}</tr></thead>
          <tbody>${shown.map((row) => html`<tr><th scope="row">${swatch(row.id)}${row.id < 0 ? t('chart.base_model') : row.id}</th>
            ${columns.map((column) => html`<td>${this.#cell(column, row, widest)}</td>`)}</tr>`)}</tbody>
        </table>
      </div>
      ${shown.some(({ ttft_p99_s }) => ttft_p99_s === null) ? html`<p class="hint">${t('who.p99_missing')}</p>` : nothing}`;
  }

  #caption(shown: readonly GroupRow[], users: boolean): string {
    const { text: { t }, session } = this.app;
    const summary = session.value.answer?.summary;
    if (users) return t('who.caption_users', { shown: shown.length, all: summary?.users ?? 0 });
    const all = summary?.adapters.asked_for ?? 0;
    if (all === 0) return t('who.caption_base');
    // The requests of the base model are a row beside the adapters.
    return t('who.caption_adapters', { shown: shown.filter(({ id }) => id >= 0).length, all });
  }

  /** Bars begin at one place, whatever the number beside them. */
  #cell(column: Column, row: GroupRow, widest: number): TemplateResult {
    const value = column.of(row);
    const shown = this.app.text.format.of(column.kind, value);
    return column.bar === true ? html`<span class="share-cell">${bar((value ?? 0) / widest, column.key === 'who.expected')}${shown}</span>` : html`${shown}`;
  }

  #heading({ key }: Column): TemplateResult {
    const { t } = this.app.text;
    const active = this.sortKey === key;
    return html`<th scope="col" data-column=${key.replace('who.', '')} aria-sort=${active ? (this.ascending ? 'ascending' : 'descending') : 'none'}>
      <button type="button" class="quiet sort" title=${t('who.sort', { column: t(key) })} @click=${() => {
        this.ascending = active && !this.ascending;
        this.sortKey = key;
      }}>${t(key)}<i aria-hidden="true">${active ? (this.ascending ? '↑' : '↓') : ''}</i></button></th>`;
  }

  /** Rows without the number come last, whichever way it is sorted. */
  #compare(one: number | null, other: number | null): number {
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    return this.ascending ? one - other : other - one;
  }
}

/** The client's colour in the picture and the charts, where it has one. */
function swatch(id: number): TemplateResult | typeof nothing {
  const role = clientRole(id);
  return role === null ? nothing : html`<i class="client-swatch" data-role=${role} aria-hidden="true"></i>`;
}

function bar(part: number, expected: boolean): TemplateResult {
  const width = Number.isFinite(part) ? Math.max(0, part) * 40 : 0;
  return html`<svg class="share-bar" data-role=${expected ? 'expected' : 'adapters'} viewBox="0 0 40 8" aria-hidden="true">${svg`<rect class="face" x="0" y="1" height="6" width=${width.toFixed(1)}/>`}</svg>`;
}

customElements.define('who-table', WhoTable);
