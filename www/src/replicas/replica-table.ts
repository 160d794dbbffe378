// Every replica in numbers. They are asked for only when the table is open, not while a slider moves.
import { html, nothing, type TemplateResult } from 'lit';
import { LightElement } from '../app/element.js';
import type { FleetSummary, PoolRow, ReplicaRow } from '../simulation/types.js';
import type { NumberKind } from '../i18n/format.js';
import type { OpenQuestion } from '../state/open-question.js';
import { tryAgain } from '../ui/try-again.js';
import type { Watchable } from '../lib/topic.js';
import { replicas } from '../i18n/en/replicas.js';

/** The others are in the summary's file. */
const MOST_ROWS = 64;

const COLUMNS = {
  requests: 'count', completed: 'count', iterations: 'count', busy: 'share', mean_size: 'number', tokens_per_iteration: 'number',
  mean_kv: 'share', peak_kv: 'share', prefix_hit_rate: 'share', preemptions: 'count', mfu: 'share', bandwidth: 'share',
} as const satisfies Partial<Record<keyof ReplicaRow, NumberKind>>;

/** What a table of replicas says of their lives, where they are not the same all the time. */
const LIFE = { start_s: 'seconds', ready_s: 'seconds', stop_s: 'seconds' } as const satisfies Partial<Record<keyof ReplicaRow, NumberKind>>;

const POOL_COLUMNS: Readonly<Record<'replicas' | 'billed_s' | 'requests' | 'completed' | 'busy' | 'mean_kv' | 'kv_tokens' | 'preemptions' | 'ttft_mean' | 'ttft_p99' | 'tpot_mean', [NumberKind, (row: PoolRow) => number | null]>> = {
  replicas: ['count', ({ replicas }) => replicas],
  billed_s: ['number', ({ billed_s }) => billed_s / 3600],
  requests: ['count', ({ requests }) => requests],
  completed: ['count', ({ completed }) => completed],
  busy: ['share', ({ busy }) => busy],
  mean_kv: ['share', ({ mean_kv }) => mean_kv],
  kv_tokens: ['count', ({ kv_tokens }) => kv_tokens],
  preemptions: ['count', ({ preemptions }) => preemptions],
  ttft_mean: ['seconds', ({ ttft_s }) => ttft_s.mean],
  ttft_p99: ['seconds', ({ ttft_s }) => ttft_s.p99],
  tpot_mean: ['seconds', ({ tpot_s }) => tpot_s.mean],
};

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
    const pools = this.data.view.value?.per_pool ?? [];
    const changes = rows.some(({ start_s, stop_s }) => start_s > 0 || stop_s !== null);
    const columns = Object.entries(changes ? { ...LIFE, ...COLUMNS } : COLUMNS) as [keyof typeof COLUMNS | keyof typeof LIFE, NumberKind][];
    const poolName = (place: number): string => pools[place]?.name || String(place + 1);
    const shown = rows.slice(0, MOST_ROWS);
    return html`
      ${pools.length < 2 ? nothing : this.#pools(pools, poolName)}
      <div class="who-scroll" tabindex="0" role="region" aria-labelledby="replicas-caption">
        <table class="who">
          <caption id="replicas-caption">${say('table.caption', { shown: shown.length, all: rows.length })}</caption>
          <thead><tr><th scope="col">${say('table.id')}</th>${pools.length < 2 ? nothing : html`<th scope="col">${say('table.pool')}</th>`}${columns.map(([name]) => html`<th scope="col">${say(`table.${name}`)}</th>`)}</tr></thead>
          <tbody>${shown.map((row) => html`<tr data-replica=${row.id}><th scope="row">${row.id}</th>${pools.length < 2 ? nothing : html`<td>${poolName(row.pool)}</td>`}
            ${columns.map(([name, kind]) => html`<td>${app.text.format.of(kind, row[name])}</td>`)}</tr>`)}</tbody>
        </table>
      </div>`;
  }

  #pools(rows: readonly PoolRow[], poolName: (place: number) => string): TemplateResult {
    const { app } = this;
    const say = app.text.say(replicas);
    const columns = Object.entries(POOL_COLUMNS) as [keyof typeof POOL_COLUMNS, (typeof POOL_COLUMNS)['busy']][];
    return html`
      <div class="who-scroll" tabindex="0" role="region" aria-labelledby="pools-caption">
        <table class="who">
          <caption id="pools-caption">${say('pools.caption')}</caption>
          <thead><tr><th scope="col">${say('pools.id')}</th>${columns.map(([name]) => html`<th scope="col">${say(`pools.${name}`)}</th>`)}</tr></thead>
          <tbody>${rows.map((row) => html`<tr data-pool=${row.id}><th scope="row">${poolName(row.id)}</th>
            ${columns.map(([, [kind, of]]) => html`<td>${app.text.format.of(kind, of(row))}</td>`)}</tr>`)}</tbody>
        </table>
      </div>`;
  }
}

customElements.define('replica-table', ReplicaTable);
