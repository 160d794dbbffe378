// How much a deployment can take, live: the goal, the answer in a sentence, the curve behind it, and a grid of
// configurations beside each other.
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import type { App } from '../app.js';
import '../controls/parameter-control.js';
import '../draw/chart-view.js';
import { LightElement } from '../element.js';
import { codesOf, type Parameter } from '../simulation/types.js';
import type { Watchable } from '../state/topic.js';
import { CapacityState } from './capacity-state.js';
import './grid-editor.js';
import { missWords } from './miss.js';
import './ranking-table.js';
import { sloLink } from './slo-link.js';
import { capacity } from '../i18n/en/capacity.js';

const GROUP = 'capacity';
const GRID = 'capacity.grid';

export function capacityPage(app: App): CapacityPage {
  const page = new CapacityPage();
  page.app = app;
  page.search = new CapacityState(app);
  return page;
}

export class CapacityPage extends LightElement {
  declare search: CapacityState;

  protected override watched(): Watchable[] {
    return [this.search.answer, this.search.chosen];
  }

  protected override render(): TemplateResult {
    const { app, search } = this;
    const say = app.text.say(capacity);
    const { state, axes, rows, done, progress, failures, notes } = search.answer.value;
    const shown = search.shown;
    this.dataset['state'] = state;
    const chart = (name: string): TemplateResult => html`<chart-view .app=${app} .name=${name} .feed=${search.feed}></chart-view>`;
    const varied = axes.length > 0;
    return html`
      <section aria-labelledby="capacity-goal"><h2 id="capacity-goal">${say('goal.title')}</h2>
        <p class="about">${say('goal.about')}</p>
        ${sloLink(app)}
        <div class="goal">${repeat(this.#controls(), ({ id }) => id, (parameter) => html`
          <parameter-control .app=${app} .parameter=${parameter}></parameter-control>`)}</div>
        ${failures.map((failure) => html`<p class="notice error" data-code=${failure.code}>${app.named(failure)}</p>`)}
        <div class="search-state">
          <progress max="1" .value=${progress} ?hidden=${state !== 'running'} aria-label=${say('goal.running')}></progress>
          <span ?hidden=${!varied}>${say('grid.progress', { done, all: rows.length })}</span>
          ${state === 'running' ? html`<button type="button" class="stop" @click=${() => { search.stop(); }}>${say('goal.stop')}</button>` : nothing}
          ${state === 'stopped' ? html`<span>${say('goal.stopped')}</span>
            <button type="button" class="again" @click=${() => { void search.search(); }}>${say('goal.again')}</button>` : nothing}
        </div>
        <p class="capacity-answer" data-metric="capacity.rate_rps" data-value=${shown?.capacity?.rate_rps ?? ''} data-limit=${shown?.capacity?.miss?.kind ?? ''} data-code=${codesOf(shown?.failures ?? [])} aria-live="polite">${this.#answer()}</p>
        <div class="happens"><div class="chart-grid">${chart('capacity_curve')}</div></div>
      </section>
      <section aria-labelledby="capacity-grid"><h2 id="capacity-grid">${say('grid.title')}</h2>
        <p class="about">${say('grid.about')}</p>
        <grid-editor .app=${app}></grid-editor>
        ${notes.map((note) => html`<p class="notice" data-code=${note.code}>${app.named(note)}</p>`)}
        ${varied ? html`
          <div class="arrives"><div class="chart-grid">${chart('capacity_ttft')}${chart('capacity_tbt')}</div></div>
          <ranking-table .app=${app} .search=${search}></ranking-table>` : nothing}
      </section>`;
  }

  #controls(): Parameter[] {
    return this.app.schema.parameters.filter(({ group, id }) => group === GROUP && id !== GRID);
  }

  #answer(): TemplateResult | string {
    const { app, search } = this;
    const say = app.text.say(capacity);
    const row = search.shown;
    if (row === undefined) return '';
    if (row.failures.length > 0) return say('cannot_run', { message: app.text.failures(row.failures) });
    if (row.capacity === null) return search.answer.value.state === 'running' ? say('goal.running') : '';
    const { rate_rps, missed_rps, miss, run_s, deviation, notes } = row.capacity;
    const { format } = app.text;
    const reason = miss === null ? '' : missWords(app, miss);
    const missed = format.of('number', missed_rps);
    if (rate_rps === null && miss?.kind === 'too_long') return say('goal.never', { reason });
    if (rate_rps === null) return say('goal.none', { missed, reason });
    const rate = format.short(rate_rps);
    const found = miss === null ? say('goal.most', { rate }) : say('goal.found', { rate, missed, reason });
    const run = format.of('seconds', run_s);
    const known = deviation === null ? say('goal.run', { run }) : say('goal.precision', { run, deviation: format.share(deviation) });
    const told = [known, ...notes.map((note) => app.named(note))];
    return html`${found}${told.map((words) => html` <small>${words}</small>`)}`;
  }
}

customElements.define('capacity-page', CapacityPage);
