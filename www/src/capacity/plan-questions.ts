// What a plan asks: the load, the model, the GPUs to compare, and the SLO. Each is a line with its present answer, which is changed
// in place; what is changed less often is folded below it.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { capacity } from '../i18n/en/capacity.js';
import { diagnosticLines } from '../ui/diagnostic-lines.js';
import type { CapacityState } from './capacity-state.js';
import { comparedGpus, hardwareChoice, hardwareStart, isOfOneServer, PRICES } from './hardware-choice.js';
import './grid-editor.js';
import { controls, planField } from './plan-field.js';
import { boundsLine } from './slo-bounds-line.js';

const GROUP = 'capacity';
const GRID = 'capacity.grid';
/** The lengths of the distributions that are fitted to real traffic; others are in the controls. */
const TRAFFIC = {
  'workload.rate_rps': 'load.rate', 'workload.arrivals.cv': 'load.cv', 'workload.input_tokens.median': 'load.prompt', 'workload.output_tokens.median': 'load.output',
} as const;

/** `more`: what is folded; `away`: what stands in its place where the rest is elsewhere. */
interface Question { id: string; title: string; line: TemplateResult | string; more?: TemplateResult; away?: TemplateResult }

export function planQuestions(app: App, search: CapacityState, isVaried: boolean): TemplateResult {
  const say = app.text.say(capacity);
  const hasHardware = !isOfOneServer(app);
  const questions: Question[] = [
    {
      id: 'load', title: say('load.title'), line: load(app),
      away: html`<button type="button" class="quiet" data-action="load" @click=${() => { app.show('explore'); }}>${say('load.change')}</button>`,
    },
    ...(hasHardware ? [{ id: 'model', title: say('model.title'), line: html`${planField(app, 'fleet.model', undefined, true)}${planField(app, 'fleet.weights')}` }] : []),
    {
      id: 'hardware', title: say('hardware.title'), line: hasHardware ? comparedGpus(app, search) : hardwareStart(app),
      more: html`${hasHardware ? hardwareChoice(app, search) : nothing}${controls(app, PRICES.flatMap((price) => app.parameters.get(price) ?? []))}
        <details class="fold" data-fold="grid" ?open=${isVaried}><summary><h3>${say('grid.more')}</h3></summary>
          <p class="about">${say('grid.about')}</p>
          <grid-editor .app=${app}></grid-editor></details>`,
    },
    {
      id: 'slo', title: say('slo.title'), line: html`${planField(app, 'slo.ttft_s', 'TTFT ≤')}${planField(app, 'slo.tpot_s', 'TPOT ≤')}${planField(app, 'slo.tbt_s', 'TBT ≤')}${planField(app, 'capacity.quantile')}`,
      more: html`<p class="about">${say('slo.about')}</p>
        ${boundsLine(app)}
        <p class="about">${say('goal.about')}</p>
        ${controls(app, searchSettings(app))}`,
    },
  ];
  return html`<div class="plan-questions">${questions.map((question) => row(app, question, isVaried))}</div>${diagnosticLines(app, search.answer.value.notes)}`;
}

function row(app: App, { id, title, line, more, away }: Question, isVaried: boolean): TemplateResult {
  const head = html`<h2 id="plan-${id}">${title}</h2>`;
  const answer = html`<div class="plan-line" data-plan=${id}>${line}</div>`;
  if (more === undefined) return html`<section class="plan-question" aria-labelledby="plan-${id}">${head}${answer}${away ?? nothing}</section>`;
  return html`<section class="plan-question" aria-labelledby="plan-${id}">${head}${answer}
    <details class="plan-more" data-fold=${id === 'slo' ? 'own-bounds' : `${id}-choice`} ?open=${id === 'hardware' && isVaried}><summary>${app.text.say(capacity)(id === 'slo' ? 'slo.more' : 'hardware.change')}</summary>
      ${more}</details></section>`;
}

/** What is to be served. */
function load(app: App): TemplateResult {
  const say = app.text.say(capacity);
  const { format } = app.text;
  const info = app.traceFile.info.value;
  const { values, inactive } = app.store.resolved;
  const count = info === null ? Number(values['workload.adapters.count']) : info.traffic.adapters === 0 ? 0 : info.settings['workload.adapters.count'];
  const adapters = count === 0 ? say('load.no_adapters') : count === undefined ? say('load.some_adapters') : say('load.adapters', { adapters: count });
  if (info !== null) return html`<span>${say('load.file', { name: info.name, requests: format.whole(info.requests), adapters })}</span>`;
  const fields = Object.entries(TRAFFIC).filter(([id]) => !inactive.has(id)).map(([id, name]) => planField(app, id, say(name)));
  return html`${fields}<span>${adapters}</span>`;
}

/** All that belongs to the search alone. */
function searchSettings(app: App): App['schema']['parameters'] {
  return app.schema.parameters.filter(({ group, id }) => group === GROUP && id !== GRID && !PRICES.includes(id));
}
