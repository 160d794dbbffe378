// A plan for a load, on one screen: what is asked, the deployment that answers, and the configurations ranked for the load; below
// it how the rate was found.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import '../draw/chart-view.js';
import { LightElement } from '../app/element.js';
import { diagnosticLines } from '../ui/diagnostic-lines.js';
import { progressLine } from '../ui/progress-line.js';
import { codesOf } from '../simulation/types.js';
import type { Watchable } from '../lib/topic.js';
import { CapacityState } from './capacity-state.js';
import { parseGrid } from './grid.js';
import { missWords } from './miss.js';
import { planAnswer } from './plan-answer.js';
import { planQuestions } from './plan-questions.js';
import './ranking-table.js';
import { tokenPrices } from './token-prices-section.js';
import { capacity } from '../i18n/en/capacity.js';
import './capacity.css';

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
    const { state, axes, rows, errors } = search.answer.value;
    const shown = search.shown;
    this.dataset['state'] = state;
    const chart = (name: string): TemplateResult => html`<chart-view .app=${app} .name=${name} .feed=${search.feed}></chart-view>`;
    return html`
      ${planQuestions(app, search, this.#varies())}
      <section class="plan-result" aria-labelledby="capacity-goal"><h2 id="capacity-goal">${say('goal.title')}</h2>
        ${diagnosticLines(app, errors)}
        ${this.#progress()}
        ${planAnswer(app, search)}
      </section>
      <section class="plan-ranking" aria-labelledby="capacity-grid"><h2 id="capacity-grid">${say('grid.title')}</h2>
        ${rows.length === 0 ? nothing : html`<ranking-table .app=${app} .search=${search}></ranking-table>`}
      </section>
      <section aria-labelledby="plan-prices">${tokenPrices(app)}</section>
      <section aria-labelledby="capacity-found"><h2 id="capacity-found">${say('found.title')}</h2>
        <p class="about">${say('grid.rule')}</p>
        <p class="capacity-answer" data-metric="capacity.rate_rps" data-value=${shown?.capacity?.rate_rps ?? ''} data-limit=${shown?.capacity?.miss?.kind ?? ''} data-code=${codesOf(shown?.errors ?? [])}>${this.#found()}</p>
        <div class="happens"><div class="chart-grid">${chart('capacity_curve')}</div></div>
        ${axes.length > 0 ? html`<div class="arrives"><div class="chart-grid">${chart('capacity_ttft')}${chart('capacity_tbt')}</div></div>` : nothing}
      </section>`;
  }

  /** Whether the reader varies another setting; the fold stays as it is when the last one is removed or a value is refused. */
  #varies(): boolean {
    const axes = parseGrid(this.search.grid);
    this.#varied ||= this.search.isChosen && axes.some(({ id }) => id !== 'fleet.gpu' && id !== 'fleet.tensor_parallel');
    return this.#varied;
  }

  #progress(): TemplateResult {
    const { app, search } = this;
    const say = app.text.say(capacity);
    const { state, axes, rows, done, progress } = search.answer.value;
    return progressLine({
      state,
      share: progress,
      label: say('goal.running'),
      reported: [...(axes.length > 0 && state !== 'ready' ? [say('grid.progress', { done, all: rows.length })] : []), ...(state === 'stopped' ? [say('goal.stopped')] : [])].join(app.text.t('list.sentences')),
      stop: { words: say('goal.stop'), run: () => { search.stop(); } },
      again: { words: say('goal.again'), run: () => { void search.search(); } },
    });
  }

  /** The capacity of the configuration that is shown. */
  #found(): TemplateResult | string {
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
