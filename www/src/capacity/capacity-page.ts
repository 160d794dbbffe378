// A plan for a load: the load, the model and the GPUs to consider, the SLO, the answer in a sentence with the curve behind it, and
// the configurations ranked for the load.
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import type { App } from '../app/app.js';
import '../controls/parameter-control.js';
import '../draw/chart-view.js';
import { LightElement } from '../app/element.js';
import { diagnosticLines } from '../ui/diagnostic-lines.js';
import { progressLine } from '../ui/progress-line.js';
import { codesOf } from '../simulation/types.js';
import type { Watchable } from '../lib/topic.js';
import { CapacityState, checkOf, type Row } from './capacity-state.js';
import { parseGrid } from './grid.js';
import './grid-editor.js';
import { missWords } from './miss.js';
import { axisValue } from './ranking-table.js';
import { boundsLine } from './slo-bounds-line.js';
import { hardwareChoice } from './hardware-choice.js';
import { planField } from './plan-field.js';
import { capacity } from '../i18n/en/capacity.js';

const GROUP = 'capacity';
const GRID = 'capacity.grid';
const SLO = ['slo.ttft_s', 'slo.tbt_s', 'slo.tpot_s'];
const QUANTILE = 'capacity.quantile';

export function capacityPage(app: App): CapacityPage {
  return CapacityPage.of(app, { search: new CapacityState(app) });
}

export class CapacityPage extends LightElement {
  declare search: CapacityState;
  #varied = false;

  protected override watched(): Watchable[] {
    return [this.search.answer, this.search.chosen, this.app.store.values, this.app.traceFile.info];
  }

  protected override render(): TemplateResult {
    const { app, search } = this;
    const say = app.text.say(capacity);
    const { state, axes, rows, done, progress, errors, notes } = search.answer.value;
    const shown = search.shown;
    this.dataset['state'] = state;
    const chart = (name: string): TemplateResult => html`<chart-view .app=${app} .name=${name} .feed=${search.feed}></chart-view>`;
    const varied = axes.length > 0;
    return html`
      <section aria-labelledby="plan-load"><h2 id="plan-load">${say('load.title')}</h2>
        <p class="about" data-plan="load">${this.#load()} <button type="button" class="quiet" data-action="load" @click=${() => { app.show('explore'); }}>${say('load.change')}</button></p>
      </section>
      <section aria-labelledby="plan-hardware"><h2 id="plan-hardware">${say('hardware.title')}</h2>
        ${hardwareChoice(app)}
        <details class="fold" data-fold="grid" ?open=${this.#varies()}><summary><h3>${say('grid.more')}</h3></summary>
          <p class="about">${say('grid.about')}</p>
          <grid-editor .app=${app}></grid-editor></details>
        ${diagnosticLines(app, notes)}
      </section>
      <section aria-labelledby="plan-slo"><h2 id="plan-slo">${say('slo.title')}</h2>
        <p class="about">${say('slo.about')}</p>
        <div class="goal">${SLO.map((id) => planField(app, id))}${this.#parameters([QUANTILE])}</div>
        ${boundsLine(app)}
        <details class="fold" data-fold="own-bounds"><summary><h3>${say('slo.own')}</h3></summary>
          <p class="about">${say('goal.about')}</p>
          <div class="goal">${this.#parameters(this.#own())}</div></details>
      </section>
      <section aria-labelledby="capacity-goal"><h2 id="capacity-goal">${say('goal.title')}</h2>
        ${diagnosticLines(app, errors)}
        ${progressLine({
          state,
          share: progress,
          label: say('goal.running'),
          reported: [...(varied ? [say('grid.progress', { done, all: rows.length })] : []), ...(state === 'stopped' ? [say('goal.stopped')] : [])].join(app.text.t('list.sentences')),
          stop: { words: say('goal.stop'), run: () => { search.stop(); } },
          again: { words: say('goal.again'), run: () => { void search.search(); } },
        })}
        ${this.#need()}
        <p class="capacity-answer" data-metric="capacity.rate_rps" data-value=${shown?.capacity?.rate_rps ?? ''} data-limit=${shown?.capacity?.miss?.kind ?? ''} data-code=${codesOf(shown?.errors ?? [])} aria-live="polite">${this.#answer()}</p>
      </section>
      <section aria-labelledby="capacity-grid"><h2 id="capacity-grid">${say('grid.title')}</h2>
        ${rows.length === 0 ? nothing : html`<ranking-table .app=${app} .search=${search}></ranking-table>`}
        <div class="choices"><button type="button" class="quiet" data-action="print" @click=${() => { print(); }}>${say('print')}</button></div>
        <div class="happens"><div class="chart-grid">${chart('capacity_curve')}</div></div>
        ${varied ? html`<div class="arrives"><div class="chart-grid">${chart('capacity_ttft')}${chart('capacity_tbt')}</div></div>` : nothing}
      </section>`;
  }

  /** Whether another setting is varied; the fold stays as it is when the last one is removed or a value is refused. */
  #varies(): boolean {
    const axes = parseGrid(String(this.app.store.resolved.values[GRID] ?? ''));
    this.#varied ||= axes.some(({ id }) => id !== 'fleet.gpu' && id !== 'fleet.tensor_parallel');
    return this.#varied;
  }

  /** What is to be served. */
  #load(): string {
    const { app } = this;
    const say = app.text.say(capacity);
    const { format } = app.text;
    const info = app.traceFile.info.value;
    const { values } = app.store.resolved;
    const count = info === null ? Number(values['workload.adapters.count']) : info.traffic.adapters === 0 ? 0 : info.settings['workload.adapters.count'];
    const adapters = count === 0 ? say('load.no_adapters') : count === undefined ? say('load.some_adapters') : say('load.adapters', { adapters: count });
    if (info !== null) return say('load.file', { name: info.name, requests: format.whole(info.requests), adapters });
    return say('load.generated', { adapters, rate: format.short(Number(values['workload.rate_rps'])), duration: format.seconds(Number(values['workload.duration_s'])) });
  }

  #parameters(ids: readonly string[]): TemplateResult {
    const found = ids.flatMap((id) => this.app.parameters.get(id) ?? []);
    return html`${repeat(found, ({ id }) => id, (parameter) => html`<parameter-control .app=${this.app} .parameter=${parameter}></parameter-control>`)}`;
  }

  #own(): string[] {
    return this.app.schema.parameters.filter(({ group, id }) => group === GROUP && id !== GRID && id !== QUANTILE).map(({ id }) => id);
  }

  /** What serves the load with the configuration that is shown. */
  #need(): TemplateResult | typeof nothing {
    const { app, search } = this;
    const row = search.shown;
    const need = row?.standing?.need;
    if (row === undefined || need === undefined || need === null || row.standing?.unranked === 'fails') return nothing;
    const say = app.text.say(capacity);
    const { format } = app.text;
    const settings = search.answer.value.axes.flatMap((id, axis) => {
      const value = row.values[axis] ?? '';
      const parameter = app.parameters.get(id);
      return value === '' || id === 'fleet.replicas' ? [] : [say('answer.setting', { name: parameter === undefined ? id : app.text.label(parameter), value: axisValue(app, id, value) })];
    });
    const { replicas, cautious_replicas, load_rps, usd_per_hour, headroom } = need;
    const price = usd_per_hour === null ? '' : say('answer.price', { usd: format.of('number', usd_per_hour) });
    return html`<p class="plan-answer" data-plan="answer" data-replicas=${replicas} data-cautious=${cautious_replicas ?? nothing}>${say(row.capacity?.price.is_fixed === true ? 'answer.fleet' : 'answer.need', {
      replicas, price, load: format.short(load_rps),
      cautious: cautious_replicas === null || cautious_replicas <= replicas ? '' : say('answer.cautious', { replicas: cautious_replicas }),
      // A share of several hundred per cent is read as a factor.
      headroom: headroom < 1 ? say('answer.headroom', { replicas, headroom: format.share(headroom) }) : say('answer.headroom_times', { replicas, times: format.short(1 + headroom) }),
    })}
      ${settings.length === 0 ? nothing : html`<small>${say('answer.settings', { settings: app.text.list(settings) })}</small>`}</p>
      ${this.#outsideSlo(row)}`;
  }

  /** The search holds a quantile of each time by itself, so that fewer requests may be within all bounds. */
  #outsideSlo(row: Row): TemplateResult | typeof nothing {
    const { app } = this;
    const { values } = app.store.resolved;
    const share = checkOf(row)?.in_slo;
    if (share === undefined || share >= Number(values[QUANTILE])) return nothing;
    return html`<p class="notice" data-plan="outside-slo">${app.text.say(capacity)('answer.outside', { share: app.text.format.share(share) })}</p>`;
  }

  #answer(): TemplateResult | string {
    const { app, search } = this;
    const say = app.text.say(capacity);
    const row = search.shown;
    if (row === undefined) return '';
    if (row.errors.length > 0) return say('cannot_run', { message: app.text.diagnostics(row.errors) });
    if (row.capacity === null) return search.answer.value.state === 'running' ? say('goal.running') : '';
    const { rate_rps, missed_rps, miss, run_s, deviation, notes, price: { replicas } } = row.capacity;
    const { format } = app.text;
    const reason = miss === null ? '' : missWords(app, miss);
    const missed = format.of('number', missed_rps);
    if (rate_rps === null && miss?.kind === 'too_long') return say('goal.never', { reason });
    if (rate_rps === null) return say('goal.none', { missed, reason });
    const rate = format.short(rate_rps);
    const found = miss === null ? say('goal.most', { rate, replicas }) : say('goal.found', { rate, missed, reason, replicas });
    const run = format.of('seconds', run_s);
    const known = deviation === null ? say('goal.run', { run }) : say('goal.precision', { run, deviation: format.share(deviation) });
    const reported = [known, ...notes.map((note) => app.named(note))];
    return html`${found}${reported.map((words) => html` <small>${words}</small>`)}`;
  }
}

customElements.define('capacity-page', CapacityPage);
