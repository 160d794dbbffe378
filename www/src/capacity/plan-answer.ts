// The answer of a plan: the deployment that serves the load, what it costs, and how well that is known.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { errorWords } from '../headline/expected-error.js';
import { capacity } from '../i18n/en/capacity.js';
import { definition } from '../ui/definition.js';
import { checkOf, larger, type CapacityState, type Row } from './capacity-state.js';
import { missWords } from './miss.js';
import { priceWords } from './price-words.js';
import { checkState, configurationName, headroomWords, limitOf, tightMark } from './row-words.js';

const QUANTILE = 'capacity.quantile';

/** Rates that differ by less are shown alike. */
const SAME_RATE = 0.005;

type Need = NonNullable<NonNullable<Row['standing']>['need']>;

export function planAnswer(app: App, search: CapacityState): TemplateResult {
  const row = search.shown;
  const need = row?.standing?.need ?? null;
  if (row === undefined || need === null || row.standing?.unranked === 'fails') return without(app, search, row);
  const { replicas, cautious_replicas } = need;
  return html`
    <p class="plan-answer" data-plan="answer" data-replicas=${replicas} data-cautious=${cautious_replicas ?? nothing} data-rank=${row.standing?.rank ?? ''} aria-live="polite">${sentence(app, search, row, need)}</p>
    <dl class="headline plan-numbers">
      ${sloMet(app, row)}${headroom(app, row, need)}${error(app, row, need)}${limit(app, row)}
    </dl>
    ${outsideSlo(app, row)}
    <p class="about whole">${[errorWords(app.text, row.capacity?.expected_error ?? null), app.text.say(capacity)('answer.priced', { price: priceWords(app, row) })].join(app.text.language === 'zh' ? '' : ' ')}</p>`;
}

/** No configuration serves the load, or none was found yet. */
function without(app: App, search: CapacityState, row: Row | undefined): TemplateResult {
  const say = app.text.say(capacity);
  const { axes, state } = search.answer.value;
  const answered = state === 'ready' && row !== undefined;
  const words = (): string => {
    if (answered) return say('answer.none', { name: configurationName(app, axes, row), reason: reasonOf(app, row) });
    return state === 'running' ? say('answer.searching') : state === 'stopped' ? say('answer.stopped') : '';
  };
  return html`<p class="plan-answer ${answered ? '' : 'waiting'}" data-plan="answer" aria-live="polite">${words()}</p>`;
}

/** Why the first of those that fail does not serve the load. */
function reasonOf(app: App, { capacity: found, checks, errors }: Row): string {
  if (found === null) return app.text.diagnostics(errors);
  const miss = checks.at(-1)?.miss ?? found.miss;
  return miss === null ? '' : missWords(app, miss);
}

/** What serves the load, and what it costs; the first rank says that no other is cheaper. */
function sentence(app: App, search: CapacityState, row: Row, { replicas, usd_per_hour, usd_per_million_tokens, load_rps }: Need): string {
  const say = app.text.say(capacity);
  const { format } = app.text;
  const name = configurationName(app, search.answer.value.axes, row, true);
  const per = usd_per_million_tokens === null ? '' : say('answer.per_million', { usd: format.short(usd_per_million_tokens) });
  const price = usd_per_hour === null ? '' : say('answer.price', { usd: format.short(usd_per_hour), per });
  const asked = Number(app.store.resolved.values['workload.rate_rps']);
  // Where the rate changes over the run, the controls have another one.
  const isMean = app.traceFile.info.value === null && Math.abs(load_rps / asked - 1) > SAME_RATE;
  const load = say(isMean ? 'answer.mean_load' : 'answer.load', { load: format.short(load_rps) });
  if (row.capacity?.price.is_fixed === true) return fleet(app, search, row, { replicas, load, price });
  const isOne = search.answer.value.axes.length === 0;
  const said = isOne ? say('answer.present', { replicas, load, price }) : say('answer.need', { replicas, name, load, price });
  const { rows, state } = search.answer.value;
  if (row.standing?.rank !== 1 || rows.length === 1) return said;
  return say(state === 'ready' ? 'answer.cheapest' : 'answer.so_far', { said });
}

/** A fleet that is taken as it is, or one of its splits, which mostly cost the same. */
function fleet(app: App, { answer }: CapacityState, row: Row, said: { replicas: number; load: string; price: string }): string {
  const say = app.text.say(capacity);
  const { axes, rows, state } = answer.value;
  if (axes.length === 0) return say('answer.fleet', said);
  const words = { ...said, name: configurationName(app, axes, row, true) };
  if (state !== 'ready' || row.standing?.rank !== 1 || rows.length === 1) return say('answer.fleet_with', words);
  const costTheSame = rows.every(({ standing }) => (standing?.need ?? null) === null || standing?.need?.usd_per_hour === row.standing?.need?.usd_per_hour);
  return costTheSame ? say('answer.split', words) : say('answer.cheapest', { said: say('answer.fleet_with', words) });
}

interface Cell { name: string; title: TemplateResult | string; value: string; mark?: TemplateResult | typeof nothing; note: string; is?: string }

/** A number of the answer with what it stands on, as the headline of Explore has them. */
function cell({ name, title, value, mark = nothing, note, is = '' }: Cell): TemplateResult {
  return html`<div class="metric" data-plan-number=${name} data-value=${is}><dt>${title}</dt><dd><b>${value}</b> ${mark}</dd><dd class="metric-note">${note}</dd></div>`;
}

function sloMet(app: App, row: Row): TemplateResult {
  const say = app.text.say(capacity);
  const { format } = app.text;
  const check = checkOf(row);
  const note = check === null ? say(row.errors.length > 0 ? 'check.impossible' : 'check.none') : say('check.simulated', { n: check.replicas, rate: format.short(check.rate_rps) });
  return cell({
    name: 'slo', title: definition('about-plan-slo', say('column.in_slo'), say('check.about')), value: format.of('share', check?.in_slo ?? null), note, is: checkState(row),
  });
}

function headroom(app: App, row: Row, need: Need): TemplateResult {
  const say = app.text.say(capacity);
  return cell({
    name: 'headroom', title: definition('about-plan-headroom', say('column.headroom'), say('headroom.about')), value: headroomWords(app, row), mark: tightMark(app, row, 'about-plan-tight'),
    note: say('headroom.until', { rate: app.text.format.short(need.load_rps * (1 + need.headroom)) }), is: need.is_tight ? 'tight' : '',
  });
}

/** How far the times are to be expected from a real server's, and what the load would need if they are longer by that. */
function error(app: App, row: Row, { replicas, gpus, cautious_replicas: cautious }: Need): TemplateResult {
  const say = app.text.say(capacity);
  const { format } = app.text;
  const share = larger(row.capacity?.expected_error ?? null);
  const usd = row.capacity?.price.usd_per_gpu_hour ?? null;
  const note = (): string => {
    if (share === null) return say('error.unknown');
    if (cautious === null) return '';
    if (cautious <= replicas) return say('error.same', { replicas, error: format.share(share) });
    const hourly = usd === null ? '' : say('error.usd', { usd: format.short(usd * gpus * cautious / replicas) });
    return say('error.more', { replicas: cautious, usd: hourly, error: format.share(share) });
  };
  return cell({
    name: 'error', title: definition('about-plan-error', say('column.error'), say('error.about')), value: share === null ? format.of('share', null) : `±${format.share(share)}`, note: note(),
    is: share === null ? '' : String(share),
  });
}

function limit(app: App, row: Row): TemplateResult {
  const say = app.text.say(capacity);
  const found = limitOf(app, row);
  return cell({
    name: 'limit', title: definition('about-plan-limit', say('column.limit'), say('limit.about')), value: found?.what ?? app.text.format.of('share', null), note: found?.how ?? say('limit.unknown'), is: found?.by ?? '',
  });
}

/** The search holds a quantile of each time by itself, so that fewer requests may be within all bounds. */
function outsideSlo(app: App, row: Row): TemplateResult | typeof nothing {
  const share = checkOf(row)?.in_slo;
  if (share === undefined || share >= Number(app.store.resolved.values[QUANTILE])) return nothing;
  return html`<p class="notice" data-plan="outside-slo">${app.text.say(capacity)('answer.outside', { share: app.text.format.share(share) })}</p>`;
}
