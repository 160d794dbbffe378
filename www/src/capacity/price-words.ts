// Which kind of price a configuration has, from where and of which day, or why it has none.
import type { App } from '../app/app.js';
import { capacity as texts } from '../i18n/en/capacity.js';
import type { PriceQuote } from '../simulation/types.js';
import type { Row } from './capacity-state.js';

const KIND = 'capacity.price_kind';

export function priced({ capacity }: Pick<Row, 'capacity'>): boolean {
  return capacity !== null && capacity.price.usd_per_gpu_hour !== null;
}

/** Where a listed price is from, and of which day. */
export function originWords(app: App, { source, date }: PriceQuote): string {
  const say = app.text.say(texts);
  return say('price.origin', { source, date: date ?? say('price.no_date') });
}

export function priceWords(app: App, { capacity }: Pick<Row, 'capacity'>): string {
  if (capacity === null) return '';
  const say = app.text.say(texts);
  const { usd_per_gpu_hour, kind, quote, gpu } = capacity.price;
  if (usd_per_gpu_hour === null && gpu === '') return say('price.no_gpu');
  const name = app.text.option(kind, KIND);
  if (usd_per_gpu_hour !== null) return quote === null ? say('price.own') : say('price.of', { kind: name, origin: originWords(app, quote) });
  if (quote !== null) {
    return say('price.other', { kind: name, other: app.text.option(quote.kind, KIND), usd: app.text.format.short(quote.usd_per_gpu_hour), origin: originWords(app, quote) });
  }
  return say('price.none');
}
