// Every replica in numbers. They are asked for only when the table is open, not while a slider moves.
import { html, nothing, type TemplateResult } from 'lit';
import { LightElement } from '../element.js';
import type { FleetSummary, ReplicaRow } from '../simulation/types.js';
import type { NumberKind } from '../i18n/format.js';
import type { OpenQuestion } from '../state/open-question.js';
import { tryAgain } from '../try-again.js';
import type { Watchable } from '../state/topic.js';
import { replicas } from '../i18n/en/replicas.js';

/** The others are in the summary's file. */
const MOST_ROWS = 64;

const COLUMNS = {
  requests: 'count', completed: 'count', iterations: 'count', busy: 'share', mean_size: 'number', tokens_per_iteration: 'number',
  mean_kv: 'share', peak_kv: 'share', prefix_hit_rate: 'share', preemptions: 'count', mfu: 'share', bandwidth: 'share',
} as const satisfies Partial<Record<keyof ReplicaRow, NumberKind>>;

export class ReplicaTable extends LightElement {
  static override properties = { ...LightElement.properties, data: { attribute: false } };
  declare data: OpenQuestion<FleetSummary>;

  protected override watched(): Watchable[] {
    return [this.data.view, this.data.errors];
  }

  protected override render(): TemplateResult | typeof nothing {
    const { app } = this;
    const say = app.text.say(replicas);
    const errors = this.data.errors.value;
    if (errors.length > 0) return tryAgain(app, errors, () => { this.data.again(); });
    const rows = this.data.view.value?.per_replica;
    if (rows === undefined) return nothing;
    const columns = Object.entries(COLUMNS) as [keyof typeof COLUMNS, NumberKind][];
    const shown = rows.slice(0, MOST_ROWS);
    return html`
      <div class="who-scroll" tabindex="0" role="region" aria-labelledby="replicas-caption">
        <table class="who">
          <caption id="replicas-caption">${say('table.caption', { shown: shown.length, all: rows.length })}</caption>
          <thead><tr><th scope="col">${say('table.id')}</th>${columns.map(([name]) => html`<th scope="col">${say(`table.${name}`)}</th>`)}</tr></thead>
          <tbody>${shown.map((row) => html`<tr data-replica=${row.id}><th scope="row">${row.id}</th>
            ${columns.map(([name, kind]) => html`<td>${app.text.format.of(kind, row[name])}</td>`)}</tr>`)}</tbody>
        </table>
      </div>`;
  }
}

customElements.define('replica-table', ReplicaTable);
