// What is written in the picture of a figure, which has one pool.
import type { Words } from '../hero/hero-picture.js';
import { hero } from '../i18n/en/hero.js';
import type { Text } from '../i18n/text.js';
import type { PoolMoment } from '../simulation/types.js';

/** Memory is told in tenths of a percent: a few tokens are none of it. */
const SHARES = 1000;

export function pictureWords(text: Text): Words {
  const t = text.say(hero);
  const { format } = text;
  const used = ({ kv_tokens: kv, adapter_tokens: adapters, memory_tokens: memory }: PoolMoment): string => format.share(memory > 0 ? Math.round((SHARES * (kv + adapters)) / memory) / SHARES : 0);
  const iteration = ({ computing, loading, iteration_s }: PoolMoment): string => (computing > 0 ? t('iteration', { time: format.seconds(iteration_s) }) : t(loading > 0 ? 'loading' : 'idle'));
  const seats = (pool: PoolMoment, requests: number): string => t('seats', { used: format.whole(requests), all: format.whole(pool.most_seats * pool.replicas) });
  return {
    kv: (pool) => [t('kv', { share: used(pool) })],
    batch: (pool, requests) => [t('two', { first: seats(pool, requests), second: iteration(pool) }), pool.computing > 0 ? format.seconds(pool.iteration_s) : iteration(pool)],
    slots: (taken, all) => [t('slots.long', { used: format.whole(taken), all: format.whole(all) }), t('slots', { used: format.whole(taken), all: format.whole(all) })],
    more: (count) => `+${format.whole(count)}`,
  };
}
