// Why a rate is too high, in words.
import type { App } from '../app/app.js';
import type { CapacityMiss } from '../simulation/types.js';
import { capacity } from '../i18n/en/capacity.js';

export function missWords(app: App, miss: CapacityMiss): string {
  const { text } = app;
  const say = text.say(capacity);
  const { format } = text;
  switch (miss.kind) {
    case 'bound': {
      const key = `metric.${miss.metric}`;
      const params = { share: quantileWords(app, miss.metric === 'queue_s'), what: text.find(capacity, key) ?? miss.metric, limit: format.seconds(miss.limit_s) };
      return miss.value_s === null ? say('miss.never', params) : say('miss.bound', { ...params, value: format.seconds(miss.value_s) });
    }
    case 'unserved': return say('miss.unserved', { requests: format.whole(miss.requests), offered: format.whole(miss.offered) });
    case 'too_long': return say('miss.too_long', { share: format.share(miss.requests / miss.offered) });
    case 'growing': return say('miss.growing', { growth: format.share(miss.growth) });
  }
}

/** The quantile of the goal, as P99. */
export function quantileWords(app: App, ofQueueing = false): string {
  const id = ofQueueing ? 'capacity.queue_quantile' : 'capacity.quantile';
  return `P${app.text.format.short(100 * Number(app.store.resolved.values[id]))}`;
}
