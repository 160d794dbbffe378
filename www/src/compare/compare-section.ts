// A pinned setting (A) and the one in the controls (B) beside each other: numbers with intervals, a sentence each, requests and
// the first decision that differs.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import '../draw/chart-view.js';
import { LightElement } from '../app/element.js';
import { USUAL } from '../generated/metrics.js';
import { compare } from '../i18n/en/compare.js';
import { diagnosticLines } from '../ui/diagnostic-lines.js';
import { progressLine } from '../ui/progress-line.js';
import { reveal } from '../ui/reveal.js';
import type { ComparedPair, ComparedRequest, DecisionText } from '../simulation/types.js';
import type { Watchable } from '../lib/topic.js';
import './compare-section.css';
import { parseLink, resolve } from '../simulation/module.js';
import { sameValue } from '../simulation/values.js';
import { CompareState, SEEDS } from './compare-state.js';
import { differenceOf, sentencesOf } from './compare-words.js';
import { metricChoice } from './metric-choice.js';
import { titleOfMetric, valueOf } from './metric-words.js';
import { crossoverSection, type CrossoverSection } from './crossover-section.js';
import { crossover } from '../i18n/en/crossover.js';

/** More settings than are read at a glance. */
const MOST_DIFFERING = 8;
/** Request by request, which says nothing where the requests differ. */
const PAIRS = 'ttft_pairs';
const CHARTS = ['compare_latency_cdf', 'compare_running_waiting', PAIRS] as const;

export function compareSection(app: App): CompareSection {
  return CompareSection.of(app, { state: new CompareState(app) });
}

export class CompareSection extends LightElement {
  declare state: CompareState;
  #crossovers: CrossoverSection | null = null;

  protected override watched(): Watchable[] {
    return [this.state.answer, this.app.metrics, this.app.pins, this.app.store.values, this.app.traceFile.info];
  }

  protected override render(): TemplateResult {
    const { app, state } = this;
    const say = app.text.say(compare);
    const { answer, feed } = state;
    const { state: now, done, all, seeds, pair, errors } = answer.value;
    this.dataset['compare'] = now;
    this.dataset['seeds'] = String(seeds);
    return html`
      <p class="about">${say('about')}</p>
      ${this.#pins()}
      ${diagnosticLines(app, errors)}
      ${now === 'none' || now === 'failed' ? nothing : html`
        ${progressLine({
          state: now,
          share: done / Math.max(all, 1),
          label: say('progress', { done, all }),
          reported: now === 'ready' ? '' : say('progress', { done, all }),
          stop: { words: say('stop'), run: () => { state.stop(); } },
          again: { words: say('again'), run: () => { void state.run(); } },
        })}
        ${this.#table()}
        <div class="compare-more">${metricChoice(app, state.extra, (chosen) => { app.metrics.set(chosen); }, (path) => !USUAL.some((usual) => usual === path))}</div>
        ${pair === null ? nothing : html`
          ${isSameTraffic(pair) ? this.#decision(pair) : nothing}
          <div class="chart-grid">${CHARTS.filter((name) => name !== PAIRS || isSameTraffic(pair)).map((name) => html`<chart-view .app=${app} .name=${name} .feed=${feed}></chart-view>`)}</div>
          ${this.#requests(pair)}`}
        ${app.traceFile.info.value === null ? this.#crossover() : nothing}`}`;
  }

  /** One long run of a file has no seeds to find a crossover with. */
  #crossover(): TemplateResult {
    this.#crossovers ??= crossoverSection(this.app);
    return html`<details class="fold" data-fold="crossover" ?open=${this.app.crossover.value !== null}><summary><h3>${this.app.text.say(crossover)('title')}</h3></summary>${this.#crossovers}</details>`;
  }

  #pins(): TemplateResult {
    const { app, state } = this;
    const say = app.text.say(compare);
    const pins = app.pins.value;
    return html`
      <div class="pins">
        <button type="button" data-action="pin" @click=${() => { state.pin(say('unnamed', { n: pins.length + 1 })); }}>${say('title.pin')}</button>
        ${pins.length === 0 ? nothing : html`
          <button type="button" data-action="swap" @click=${() => { state.swap(); }}>${say('swap')}</button>
          ${app.traceFile.info.value !== null ? nothing : html`<label>${say('seeds')} <select data-action="seeds" @change=${(event: Event) => { state.take(Number((event.target as HTMLSelectElement).value)); }}>
            ${SEEDS.map((count) => html`<option value=${count} ?selected=${count === state.seeds}>${count}</option>`)}</select></label>`}`}
      </div>
      ${state.isLinear ? this.#linear() : nothing}
      ${pins[0] === undefined ? nothing : this.#differing(pins[0].link)}
      <ol class="pinned">${pins.map(({ name, link }, place) => html`
        <li data-pin=${place}><b>${place === 0 ? say('a') : nothing}</b>
          <input type="text" maxlength="60" aria-label=${say('name')} .value=${name} @change=${(event: Event) => { state.rename(place, (event.target as HTMLInputElement).value); }}>
          <a href=${`#${link}`}>${say('open_pin')}</a>
          ${place === 0 ? nothing : html`<button type="button" class="quiet" data-action="choose" @click=${() => { state.choose(place); }}>${say('choose')}</button>`}
          <button type="button" class="quiet" data-action="unpin" @click=${() => { state.remove(place); }}>${say('remove')}</button></li>`)}</ol>`;
  }

  /** What A and B are set to otherwise, by name. */
  #differing(link: string): TemplateResult {
    const { app } = this;
    const { text } = app;
    const say = text.say(compare);
    const [a, b] = [resolve(parseLink(link).scenario).values, app.store.resolved.values];
    const differing = app.schema.parameters.filter(({ id }) => !sameValue(a[id], b[id]));
    if (differing.length === 0) return html`<p class="about" data-differing="0">${say('differing.none')}</p>`;
    const reported = differing.slice(0, MOST_DIFFERING).map((parameter) => say('differing.one', {
      name: text.label(parameter), a: text.value(parameter, a[parameter.id] ?? parameter.default), b: text.value(parameter, b[parameter.id] ?? parameter.default),
    }));
    const more = differing.length - reported.length;
    return html`<p class="about" data-differing=${differing.length}>${say('differing', { settings: [...reported, ...(more > 0 ? [text.t('list.more', { count: more })] : [])].join(text.t('list.sentences')) })}</p>`;
  }

  /** The linear model's times are of no particular GPU: what leads to those of one. */
  #linear(): TemplateResult {
    const { app, state } = this;
    const say = app.text.say(compare);
    const kernels = (): void => {
      state.takeBoth({ 'cost.kind': 'kernels' });
      const gpu = app.parameters.get('fleet.gpu');
      if (gpu !== undefined) setTimeout(() => { reveal(app, gpu); });
    };
    return html`<p class="about" data-linear>${say('linear')} <button type="button" data-action="kernels" @click=${kernels}>${say('linear.kernels')}</button></p>`;
  }

  #table(): TemplateResult | typeof nothing {
    const { app } = this;
    const { comparison } = this.state.answer.value;
    if (comparison === null) return nothing;
    const say = app.text.say(compare);
    return html`
      <div class="table-scroll" tabindex="0" role="region" aria-label=${say('difference')}><table class="who compare">
        <thead><tr><th scope="col">${say('metric')}</th><th scope="col">${say('a')}</th><th scope="col">${say('b')}</th><th scope="col">${say('difference')}</th><th scope="col">${say('interval')}</th><th scope="col">${say('relative')}</th></tr></thead>
        <tbody>${Object.entries(comparison).map(([path, row]) => {
          const reported = differenceOf(app.text, path, row);
          return html`
            <tr data-metric=${path} data-a=${row.a ?? ''} data-b=${row.b ?? ''} data-difference=${row.difference ?? ''} data-low=${row.low ?? ''} data-high=${row.high ?? ''}>
              <th scope="row">${titleOfMetric(app.text, path)} ${sentencesOf(app.text, path, row).map((sentence) => html`<small class="sentence">${sentence}</small>`)}</th>
              <td>${valueOf(app.text, path, row.a)}</td><td>${valueOf(app.text, path, row.b)}</td>
              <td>${reported.difference}</td><td>${reported.interval}</td><td>${reported.relative}</td></tr>`;
        })}</tbody></table></div>`;
  }

  #decision({ first_difference: first }: ComparedPair): TemplateResult {
    const { text } = this.app;
    const say = text.say(compare);
    if (first === null) return html`<p data-decision="">${say('decision.none')}</p>`;
    const of = (side: string, decision: DecisionText | null): string => {
      if (decision === null) return say('decision.of', { side, verdict: say('decision.nothing'), test: '' });
      const { request, verdict, test, need, have } = decision;
      const key = request === null ? 'verdict.none' : `verdict.${verdict}`;
      const name = text.find(compare, `test.${test}`);
      const reason = name === undefined ? '' : need === null || have === null ? `(${name})` : say('decision.test', { test: name, need, have });
      return say('decision.of', { side, verdict: text.fill(text.find(compare, key) ?? verdict, { id: request ?? 0 }), test: reason });
    };
    return html`
      <h3>${say('decision', { time: text.format.seconds(first.time_s) })}</h3>
      <p data-decision=${first.time_s} data-request=${first.a?.request ?? first.b?.request ?? ''}>${of(say('a'), first.a)}<br>${of(say('b'), first.b)}</p>`;
  }

  #requests(pair: ComparedPair): TemplateResult {
    const say = this.app.text.say(compare);
    const { requests } = pair;
    const { sooner_in_b: sooner, later_in_b: later, same, only_in_a: only_a, only_in_b: only_b } = requests.first_token;
    const { equal, paired } = requests;
    if (!isSameTraffic(pair)) return html`<p data-unequal>${say('requests.unequal', { equal, paired })}</p>`;
    return html`
      <p>${say('requests', { sooner, later, same, only_a, only_b })}</p>
      <div class="moved">${this.#moved(say('gained'), requests.gained_most)}${this.#moved(say('lost'), requests.lost_most)}</div>`;
  }

  #moved(caption: string, rows: readonly ComparedRequest[]): TemplateResult | typeof nothing {
    const { text } = this.app;
    const say = text.say(compare);
    if (rows.length === 0) return nothing;
    const seconds = (value: number): string => text.format.seconds(value);
    return html`
      <table class="who"><caption>${caption}</caption>
        <thead><tr><th scope="col">${say('request')}</th><th scope="col">${say('ttft_a')}</th><th scope="col">${say('ttft_b')}</th><th scope="col">${say('difference')}</th></tr></thead>
        <tbody>${rows.map((row) => html`<tr><th scope="row"><button type="button" class="quiet" @click=${() => { void this.app.select(row.id); }}>${row.id}</button></th>
          <td>${seconds(row.a_ttft_s)}</td><td>${seconds(row.b_ttft_s)}</td><td>${seconds(row.difference_s)}</td></tr>`)}</tbody></table>`;
  }
}

/** Whether both runs serve the same requests. */
function isSameTraffic({ requests: { equal, paired } }: ComparedPair): boolean {
  return equal === paired;
}

customElements.define('compare-section', CompareSection);
