// The monitor's table: every number of every client, sorted by any column. The simulation's thread sorts, for it has all
// clients; the table shows the first of them.
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import { LightElement } from '../app/element.js';
import type { MonitorView } from '../simulation/types.js';
import type { Watchable } from '../lib/topic.js';
import { FEW_ROWS, MORE_ROWS, type MonitorData } from './monitor-data.js';
import { monitor } from '../i18n/en/monitor.js';

const REASON = 'refused_';

export class MonitorTable extends LightElement {
  static override properties = { ...LightElement.properties, data: { attribute: false } };
  declare data: MonitorData;

  protected override watched(): Watchable[] {
    return [this.data.view, this.data.sorting];
  }

  protected override render(): TemplateResult | typeof nothing {
    const { app, data } = this;
    const say = app.text.say(monitor);
    const view = data.view.value;
    if (view === null) return nothing;
    const { client, rows } = view;
    const few = data.sorting.value.rows === FEW_ROWS;
    return html`
      <div class="who-scroll" tabindex="0" role="region" aria-labelledby="monitor-caption">
        <table class="who monitor">
          <caption id="monitor-caption">${say(`caption.${client}`, { shown: rows.length, all: view.clients })}</caption>
          <thead><tr>${this.#heading('id', say(client))}${view.columns.map(({ name }) => this.#heading(name, this.#title(name)))}</tr></thead>
          <tbody>${repeat(rows, ({ id }) => id, (row) => this.#row(view, row))}</tbody>
        </table>
      </div>
      ${view.clients <= FEW_ROWS ? nothing : html`<button type="button" class="quiet rows" @click=${() => {
        data.sorting.update({ rows: few ? MORE_ROWS : FEW_ROWS });
      }}>${say(few ? 'more' : 'fewer', { rows: few ? Math.min(MORE_ROWS, view.clients) : FEW_ROWS })}</button>`}`;
  }

  #title(name: string): string {
    const { app } = this;
    if (name.startsWith(REASON)) return app.text.outcome(name.slice(REASON.length));
    const key = `column.${name}`;
    return app.text.find(monitor, key) ?? name;
  }

  #heading(name: string, title: string): TemplateResult {
    const { sorting } = this.data;
    const { sort, descending } = sorting.value;
    const active = sort === name;
    // Names begin with the least, numbers with the most.
    const next = active ? !descending : name !== 'id';
    return html`<th scope="col" data-column=${name} aria-sort=${active ? (descending ? 'descending' : 'ascending') : 'none'}>
      <button type="button" class="quiet sort" title=${this.app.text.say(monitor)('sort', { column: title })} @click=${() => {
        sorting.update({ sort: name, descending: next });
      }}>${title}<i aria-hidden="true">${active ? (descending ? '↓' : '↑') : ''}</i></button></th>`;
  }

  /** The colour that the client has in the charts. */
  #swatch(id: number): TemplateResult | typeof nothing {
    const role = this.data.view.value?.charted.find((one) => one.id === id)?.role;
    return role === undefined ? nothing : html`<i class="client-swatch" data-role=${role} aria-hidden="true"></i>`;
  }

  #row({ client, columns }: MonitorView, { id, values }: MonitorView['rows'][number]): TemplateResult {
    const { app } = this;
    return html`<tr data-client=${id}><th scope="row">${this.#swatch(id)}${id < 0 ? app.text.say(monitor)('client.base') : app.text.say(monitor)(`client.${client}`, { id: String(id) })}</th>
      ${columns.map(({ kind }, index) => html`<td>${app.text.format.of(kind, values[index] ?? null)}</td>`)}</tr>`;
  }
}

customElements.define('monitor-table', MonitorTable);
