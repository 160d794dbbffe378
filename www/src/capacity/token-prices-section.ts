// What a million tokens cost on current GPUs against TTFT: a chart for each model, where the prices are from, and all of it as a
// table. Each deployment opens with the reader's own traffic.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { LightElement } from '../app/element.js';
import type { ChartFeed } from '../draw/chart-feed.js';
import '../draw/chart-view.js';
import type { ReadOut } from '../draw/read-out.js';
import { capacity } from '../i18n/en/capacity.js';
import type { Say } from '../i18n/area.js';
import { Topic, type Watchable } from '../lib/topic.js';
import { messageOf, type ChartData, type ScenarioPatch } from '../simulation/types.js';
import type { Tab } from '../state/session.js';
import { isOfOneServer } from './hardware-choice.js';
import { originWords } from './price-words.js';
import { chartName, chartOf, fetchTokenPrices, gpuOf, gridOf, hardwareOf, isDrawn, MOST_TIMES, rangeOf, roleOf, type Deployment, type TokenPrices } from './token-prices.js';

const GRID = 'capacity.grid';

export class TokenPricesSection extends LightElement {
  static override properties = { ...LightElement.properties, file: { state: true }, failure: { state: true } };
  declare file: TokenPrices | undefined;
  declare failure: string | undefined;
  readonly #charts = new Topic<ReadonlyMap<string, ChartData>>(new Map());
  #feed: ChartFeed | undefined;

  protected override watched(): Watchable[] {
    return [];
  }

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.file === undefined) void this.#read();
  }

  async #read(): Promise<void> {
    try {
      const file = await fetchTokenPrices();
      this.#charts.set(new Map(file.models.map((_, model) => [chartName(model), chartOf(file, model)])));
      this.file = file;
    } catch (thrown) {
      this.failure = messageOf(thrown);
    }
  }

  get #say(): Say<typeof capacity> {
    return this.app.text.say(capacity);
  }

  protected override render(): TemplateResult {
    const { app, file, failure } = this;
    const say = this.#say;
    this.dataset['state'] = failure !== undefined ? 'failed' : file === undefined ? 'running' : 'ready';
    if (failure !== undefined) return html`<h2>${say('prices.title')}</h2><p class="notice error">${say('prices.failed', { why: failure })}</p>`;
    if (file === undefined) return html`<h2>${say('prices.title')}</h2>`;
    const { common, deployments, models } = file;
    const { format } = app.text;
    const left = deployments.filter((deployment) => !isDrawn(file, deployment)).length;
    return html`<h2 id="plan-prices">${say('prices.title')}</h2>
      <p class="about whole">${say('prices.about', {
        quantile: format.share(common.quantile), ttft: format.seconds(common.ttft_s), tpot: format.seconds(common.tpot_s), input: common.input_tokens, output: common.output_tokens,
      })} <strong>${say('prices.open')}</strong></p>
      <div class="chart-grid token-prices">${models.map((_, model) => html`<chart-view .app=${app} .name=${chartName(model)} .feed=${this.#feedOf(file)}></chart-view>`)}</div>
      <p class="about whole">${say('prices.errors')} ${left === 0 ? nothing : say('prices.left', { count: left, times: MOST_TIMES })}</p>
      <p class="about whole" data-prices="listed">${say('prices.listed', { prices: app.text.list(file.gpus.flatMap(({ name, price }) => (price === null ? [] : [say('prices.price', {
        gpu: name, usd: format.short(price.usd_per_gpu_hour), origin: originWords(app, price),
      })]))) })}</p>
      <details class="fold" data-fold="token-prices"><summary><h3>${say('prices.table')}</h3></summary>${this.#table(file)}
        <p class="about whole">${say('prices.made')} <code>${file.command}</code>. <a href="published/token-prices.json" download>${say('prices.file')}</a></p></details>`;
  }

  #table(file: TokenPrices): TemplateResult {
    const { app } = this;
    const say = this.#say;
    const { format } = app.text;
    const quantile = this.#quantile(file);
    const heads = [say('prices.model'), say('prices.gpus'), say('prices.times'), say('prices.rate'), say('column.per_million'), say('prices.ttft', { quantile }), say('prices.error')];
    return html`<div class="who-scroll" tabindex="0" role="region" aria-labelledby="token-prices-caption">
      <table class="who token-prices"><caption id="token-prices-caption">${say('prices.caption')}</caption>
        <thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}<td></td></tr></thead>
        <tbody>${file.deployments.map((deployment) => html`<tr>
          <th scope="row">${this.#modelName(file, deployment.model)}</th><td>${this.#gpusName(file, deployment)}</td><td>${app.text.option(deployment.times, 'cost.kind')}</td>
          <td>${format.short(deployment.rate_rps)}</td><td>${format.short(deployment.usd_per_million_tokens)}</td><td>${format.seconds(deployment.ttft_s)}</td>
          <td>${deployment.rate_error === null ? '–' : `±${format.share(deployment.rate_error)}`}</td>
          <td><button type="button" class="quiet" data-action="plan" @click=${() => { this.#open(file, deployment, 'plan'); }}>${say('prices.plan')}</button>
            <button type="button" class="quiet" data-action="explore" @click=${() => { this.#open(file, deployment, 'explore'); }}>${say('grid.explore')}</button></td></tr>`)}</tbody>
      </table></div>`;
  }

  #feedOf(file: TokenPrices): ChartFeed {
    return (this.#feed ??= {
      topic: () => this.#charts,
      zooms: false,
      chart: (name) => this.#charts.value.get(name),
      ghost: () => null,
      title: (name) => this.#modelName(file, file.models.findIndex((_, model) => chartName(model) === name)),
      about: () => this.#say('prices.chart.about'),
      role: (_chart, role) => file.gpus[gpuOf(role)]?.name ?? role,
      xName: () => this.#say('prices.axis_x', { quantile: this.#quantile(file) }),
      yName: () => this.#say('prices.axis_y'),
      point: (_chart, id) => this.#readOut(file, file.deployments[id]),
      pick: (_chart, id) => {
        const deployment = file.deployments[id];
        if (deployment !== undefined) this.#open(file, deployment, 'plan');
      },
    });
  }

  #readOut(file: TokenPrices, deployment: Deployment | undefined): ReadOut {
    if (deployment === undefined) return { at: '', rows: [] };
    const say = this.#say;
    const { format } = this.app.text;
    const range = (value: number, error: number | null, words: (value: number) => string): string => {
      const [low, high] = rangeOf(value, error).map(words) as [string, string];
      return error === null ? words(value) : say('prices.range', { value: words(value), low, high });
    };
    const role = roleOf(deployment.gpu);
    const { usd_per_million_tokens: usd, ttft_s, rate_error, ttft_error } = deployment;
    return {
      at: this.#gpusName(file, deployment),
      rows: [
        { role, label: say('prices.axis_y'), value: range(usd, rate_error, (value) => format.short(value)) },
        { role, label: say('prices.ttft', { quantile: this.#quantile(file) }), value: range(ttft_s, ttft_error, (value) => format.seconds(value)) },
      ],
    };
  }

  #modelName(file: TokenPrices, model: number): string {
    const of = file.models[model];
    return of === undefined ? '' : this.#say('prices.chart', { model: of.name, weights: this.app.text.option(of.weights, 'fleet.weights') });
  }

  #gpusName(file: TokenPrices, { gpu, tensor_parallel }: Deployment): string {
    return this.#say('prices.point', { gpus: tensor_parallel, gpu: file.gpus[gpu]?.name ?? '' });
  }

  #quantile({ common }: TokenPrices): string {
    return `P${this.app.text.format.short(100 * common.quantile)}`;
  }

  /** The deployment in place of one's own; the Back button leads back. */
  #open(file: TokenPrices, deployment: Deployment, tab: Tab): void {
    const { app } = this;
    const engine: ScenarioPatch = isOfOneServer(app) ? { 'scheduler.kind': 'vllm_v1' } : {};
    const grid: ScenarioPatch = tab === 'plan' ? { [GRID]: gridOf(file, deployment) } : {};
    app.adopt({ ...app.store.values.value, ...engine, ...hardwareOf(file, deployment), ...grid }, tab);
    scrollTo({ top: 0, behavior: 'instant' });
  }
}

customElements.define('token-prices-section', TokenPricesSection);

export function tokenPrices(app: App): TemplateResult {
  return html`<token-prices-section .app=${app}></token-prices-section>`;
}
