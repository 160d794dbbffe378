// Usage by client: charts over time and a table that sorts, by user or by adapter. It is fetched when it is first opened.
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import type { App } from '../app/app.js';
import { refused } from '../ui/belonging-words.js';
import type { ChartFeed } from '../draw/chart-feed.js';
import { downloadText } from '../draw/export-chart.js';
import { LightElement } from '../app/element.js';
import { Refusal } from '../simulation/worker-link.js';
import { type ExportKind, type MonitorView } from '../simulation/types.js';
import type { Watchable } from '../lib/topic.js';
import { tryAgain } from '../ui/try-again.js';
import { MonitorData } from './monitor-data.js';
import './monitor-section.css';
import './monitor-table.js';
import type { Say } from '../i18n/area.js';
import { monitor } from '../i18n/en/monitor.js';

export function monitorSection(app: App): MonitorSection {
  return MonitorSection.of(app, { data: new MonitorData(app) });
}

export class MonitorSection extends LightElement {
  declare data: MonitorData;
  #feed: ChartFeed | undefined;
  readonly #toggled = (): void => {
    this.data.look(this.#details?.open === true);
    this.app.scheduler.invalidateAll();
  };

  protected override watched(): Watchable[] {
    return [this.data.view, this.data.errors, this.data.sorting];
  }

  get #details(): HTMLDetailsElement | null {
    return this.closest('details');
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#details?.addEventListener('toggle', this.#toggled);
    this.#toggled();
  }

  protected override render(): TemplateResult {
    const { app, data } = this;
    const say = app.text.say(monitor);
    const view = data.view.value;
    const { client } = data.sorting.value;
    const feed = (this.#feed ??= feedOf(app, data));
    const errors = data.errors.value;
    this.dataset['state'] = errors.length > 0 ? 'failed' : view === null ? 'waiting' : 'ready';
    // What is left would be of another run.
    if (errors.length > 0) return tryAgain(app, errors, () => { data.again(); });
    if (view === null) return html`<p class="about">${say('loading')}</p>`;
    const choose = (chosen: typeof client): void => { data.sorting.update({ client: chosen }); };
    return html`
      <div class="who-choice" role="group" aria-label=${say('choice')}>
        <button type="button" class="quiet" data-client="user" aria-pressed=${client === 'user'} @click=${() => { choose('user'); }}>${say('users')}</button>
        <button type="button" class="quiet" data-client="adapter" aria-pressed=${client === 'adapter'} @click=${() => { choose('adapter'); }}>${say('adapters')}</button>
      </div>
      ${this.#numbers(say, view)}
      <div class="chart-grid">${repeat(view.charts, ({ name }) => name, ({ name }) => html`<chart-view .app=${app} .name=${name} .feed=${feed}></chart-view>`)}</div>
      ${view.kv_interpolated === 0 ? nothing : html`<p class="about">${say('interpolated', { requests: view.kv_interpolated })}</p>`}
      <monitor-table .app=${app} .data=${data}></monitor-table>
      <div class="choices">${this.#file(say('csv'), 'clients.csv')}${this.#file(say('csv.time'), 'clients_over_time.csv')}</div>`;
  }

  #numbers(say: Say<typeof monitor>, view: MonitorView): TemplateResult {
    const { format } = this.app.text;
    const computed = view.computed_tokens;
    const wasted = view.wasted_tokens > 0 ? ` (${format.share(view.wasted_tokens / computed)})` : '';
    const number = (word: 'jain' | 'gap' | 'wasted', metric: string, value: number | null, shown: string): TemplateResult => html`
      <div class="metric" data-metric="monitor.${metric}" data-value=${value ?? ''}>
        <dt>${say(word)}</dt><dd><b>${shown}</b><small>${say(`${word}.about`)}</small></dd></div>`;
    return html`<dl class="monitor-numbers">
      ${number('jain', 'jain', view.jain, format.of('number', view.jain))}
      ${number('gap', 'largest_gap_per_s', view.largest_gap_per_s, format.of('number', view.largest_gap_per_s))}
      ${number('wasted', 'wasted_tokens', view.wasted_tokens, `${format.whole(view.wasted_tokens)}${wasted}`)}
    </dl>`;
  }

  #file(label: string, what: ExportKind): TemplateResult {
    return html`<button type="button" data-file=${what} @click=${() => { void this.#download(what); }}>${label}</button>`;
  }

  async #download(what: ExportKind): Promise<void> {
    const { app } = this;
    if (refused(app)) return;
    try {
      downloadText(`servescope-${what}`, await app.ask({ kind: 'export', what }), 'text/csv');
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown;
      app.notices.error('export_failed', () => app.text.t('notice.export_failed', { message: app.text.diagnostics(thrown.errors) }));
    }
  }
}

/** The client's name in legends. */
function clientName(say: Say<typeof monitor>, client: MonitorView['client'], id: number): string {
  return id < 0 ? say('client.base') : say(`client.${client}`, { id: String(id) });
}

function feedOf(app: App, data: MonitorData): ChartFeed {
  const word = (key: string): string => (app.text.find(monitor, key) ?? app.text.named('', key));
  return {
    topic: () => data.view,
    zooms: true,
    of: 'run',
    chart: (name) => data.view.value?.charts.find((chart) => chart.name === name),
    // Former stacks would only hide the current ones: the colours of clients may differ.
    ghost: () => null,
    title: (name) => word(`chart.${name}`),
    about: (name) => word(`chart.${name}.about`),
    role: (_chart, role) => {
      const view = data.view.value;
      const charted = view?.charted.find((one) => one.role === role);
      if (view !== null && charted !== undefined) return clientName(app.text.say(monitor), view.client, charted.id);
      return role === 'pool' ? app.text.named('role.', role) : app.text.say(monitor)('others');
    },
    empty: word,
  };
}

customElements.define('monitor-section', MonitorSection);
