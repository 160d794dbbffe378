// What is shown of a configuration on demand: its numbers at capacity, its price, and how far its times are to be trusted.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { errorWords } from '../headline/expected-error.js';
import type { Row } from './capacity-state.js';
import { missWords, quantileWords } from './miss.js';
import { priced, priceWords } from './price-words.js';
import { DETAILS } from './ranking-columns.js';
import { checkWords, limitOf } from './row-words.js';
import { capacity } from '../i18n/en/capacity.js';

export function rankingDetails(app: App, row: Row): TemplateResult {
  const say = app.text.say(capacity);
  const { standing } = row;
  const fronts = [standing?.is_on_ttft_front === true ? say('front.ttft') : '', standing?.is_on_tbt_front === true ? say('front.tbt') : ''].filter((front) => front !== '');
  const quantile = quantileWords(app);
  const limit = limitOf(app, row);
  const pair = (name: string, value: string, shape = ''): TemplateResult | typeof nothing => (value === '' ? nothing : html`<div class=${shape}><dt>${name}</dt><dd>${value}</dd></div>`);
  return html`<dl class="ranking-details">
    ${DETAILS.map(({ key, kind, of }) => pair(say(key, { quantile }), app.text.format.of(kind, of(row))))}
    ${pair(say('column.check'), checkWords(app, row))}
    ${pair(say('column.limit'), limit === null ? '' : say('limit.found', { what: limit.what, how: limit.how }))}
    ${pair(say('column.price'), priced(row) ? priceWords(app, row) : '')}
    ${pair(say('column.front'), app.text.list(fronts))}
    ${pair(say('column.reason'), reason(app, row), 'wide')}
    ${pair(say('column.error'), errorWords(app.text, row.capacity?.expected_error ?? null), 'wide')}
  </dl>`;
}

function reason(app: App, { capacity: found, standing }: Row): string {
  if (found === null) return '';
  const missed = found.miss === null ? [] : [missWords(app, found.miss)];
  const price = standing?.unranked === 'no_price' ? [priceWords(app, { capacity: found })] : [];
  return [...price, ...missed, ...found.notes.map((note) => app.named(note))].join('; ');
}
