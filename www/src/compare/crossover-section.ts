// Where does the better of A and B change? A form, the sentence, and both curves with the crossover.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { copied } from '../ui/copy.js';
import '../draw/chart-view.js';
import { LightElement } from '../app/element.js';
import { USUAL } from '../generated/metrics.js';
import { compare } from '../i18n/en/compare.js';
import { crossover as words } from '../i18n/en/crossover.js';
import { diagnosticLines } from '../ui/diagnostic-lines.js';
import { progressLine } from '../ui/progress-line.js';
import type { CrossoverFound } from '../simulation/types.js';
import type { Watchable } from '../lib/topic.js';
import { isMoreBetter, titleOfMetric } from './metric-words.js';
import { CrossoverState } from './crossover-state.js';

const FIRST = { over: 'workload.arrivals.cv=0.5:4:log', metric: 'ttft_s.p90' };

export function crossoverSection(app: App): CrossoverSection {
  return CrossoverSection.of(app, { state: new CrossoverState(app) });
}

export class CrossoverSection extends LightElement {
  declare state: CrossoverState;

  protected override watched(): Watchable[] {
    return [this.state.answer, this.app.crossover];
  }

  protected override render(): TemplateResult {
    const { app, state } = this;
    const say = app.text.say(words);
    const { state: now, done, all, found, errors } = state.answer.value;
    this.dataset['crossover'] = now;
    const [path = '', range = ''] = (app.crossover.value ?? FIRST).over.split('=');
    const [from = '', to = '', log = ''] = range.split(':');
    const metric = (app.crossover.value ?? FIRST).metric;
    const numbers = app.schema.parameters.filter(({ type, group, id }) => (type === 'number' || type === 'integer') && group !== 'capacity' && id !== 'seed');
    return html`
      <p class="about">${say('about')}</p>
      <form class="crossover-form" @submit=${(event: Event) => { event.preventDefault(); this.#find(event.target as HTMLFormElement); }}>
        <label>${say('parameter')} <select name="path">${numbers.map((parameter) => html`<option value=${parameter.id} .selected=${parameter.id === path}>${app.text.label(parameter)}</option>`)}</select></label>
        <label>${say('from')} <input name="from" type="text" inputmode="decimal" autocomplete="off" .value=${from}></label>
        <label>${say('to')} <input name="to" type="text" inputmode="decimal" autocomplete="off" .value=${to}></label>
        <label><input name="log" type="checkbox" .checked=${log === 'log'}> ${say('log')}</label>
        <label>${app.text.say(compare)('metric')} <select name="metric">${USUAL.map((one) => html`<option value=${one} .selected=${one === metric}>${titleOfMetric(app.text, one)}</option>`)}</select></label>
        <button type="submit" data-action="crossover">${say('find')}</button>
      </form>
      ${diagnosticLines(app, errors)}
      ${now === 'none' || now === 'failed' ? nothing : progressLine({
        state: now,
        share: done / Math.max(all, 1),
        label: say('progress', { done, all }),
        reported: now === 'ready' ? '' : say('progress', { done, all }),
        stop: { words: say('stop'), run: () => { state.stop(); } },
        again: { words: say('again'), run: () => { void state.run(); } },
      })}
      ${found === null ? nothing : this.#found(found)}`;
  }

  #found(found: CrossoverFound): TemplateResult {
    const { app, state } = this;
    const say = app.text.say(words);
    return html`<div role="status" data-crossovers=${JSON.stringify(found.crossovers)}>${this.#sentences(found).map((sentence) => html`<p class="capacity-answer">${sentence}</p>`)}</div>
      <div class="chart-grid"><chart-view .app=${app} .name=${'crossover'} .feed=${state.feed}></chart-view></div>
      <button type="button" class="quiet" data-action="crossover-command" @click=${() => { void copied(app, state.answer.value.command); }}>${say('command')}</button>`;
  }

  #sentences({ crossovers, values, parameter, metric, seeds }: CrossoverFound): string[] {
    const { app } = this;
    const say = app.text.say(words);
    const { format } = app.text;
    const row = app.parameters.get(parameter);
    const common = { metric: titleOfMetric(app.text, metric), name: row === undefined ? parameter : app.text.label(row), seeds };
    const shown = (value: number): string => format.withUnit(format.short(value), app.text.unit(row?.unit ?? ''));
    if (crossovers.length > 0) {
      return crossovers.map(({ value, low, high, below, above }) => say('told', { ...common, below, above, value: shown(value), low: shown(low), high: shown(high) }));
    }
    const reported = values.flatMap(({ low, high }) => (low !== null && low > 0 ? ['A'] : high !== null && high < 0 ? ['B'] : []));
    const [least] = reported;
    const range = { from: shown(values[0]?.value ?? 0), to: shown(values.at(-1)?.value ?? 0) };
    if (least === undefined) return [say('told.no_difference', { ...common, ...range, all: values.length })];
    const better = isMoreBetter(metric) ? (least === 'A' ? 'B' : 'A') : least;
    return [say('told.none', { ...common, ...range, better, n: reported.length, all: values.length })];
  }

  #find(form: HTMLFormElement): void {
    const data = new FormData(form);
    const text = (name: string): string => { const value = data.get(name); return typeof value === 'string' ? value.trim() : ''; };
    const next = { over: `${text('path')}=${text('from')}:${text('to')}${data.has('log') ? ':log' : ''}`, metric: text('metric') };
    const { value } = this.app.crossover;
    if (value?.over === next.over && value.metric === next.metric) void this.state.run();
    else this.app.crossover.set(next);
  }
}

customElements.define('crossover-section', CrossoverSection);
