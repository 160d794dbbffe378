// What is written in the picture.
import { hero } from '../i18n/en/hero.js';
import type { Text } from '../i18n/text.js';
import type { Moment, PoolMoment } from '../simulation/types.js';
import type { Words } from './hero-picture.js';
import { poolsOf } from './places.js';

/** Memory is rounded to tenths of a percent: a few tokens are none of it. */
const SHARES = 1000;
/** A batch that may have so many requests has no bound that matters. */
const UNBOUNDED = 100_000;

export function pictureWords(text: Text, moment: Moment): Words {
  const t = text.say(hero);
  const { format } = text;
  const count = (all: number): string => format.whole(all);
  const used = ({ kv_tokens: kv, adapter_tokens: adapters, memory_tokens: memory }: PoolMoment): string => format.share(memory > 0 ? Math.round((SHARES * (kv + adapters)) / memory) / SHARES : 0);
  const iteration = ({ computing, loading, iteration_s }: PoolMoment): string => (computing > 0 ? t('iteration', { time: format.seconds(iteration_s) }) : t(loading > 0 ? 'loading' : 'idle'));
  const seats = ({ most_seats: most, replicas }: PoolMoment, requests: number): string[] => (most * replicas < UNBOUNDED ? [t('seats', { used: count(requests), all: count(most * replicas) })] : []);
  return {
    kv: (pool, place) => [...namesOf(moment, pool, place).map((name) => t('kv.pool', { pool: name, share: used(pool) })), t('kv', { share: used(pool) })],
    batch: (pool, requests) => [...seats(pool, requests).map((first) => t('two', { first, second: iteration(pool) })), pool.computing > 0 ? format.seconds(pool.iteration_s) : iteration(pool)],
    slots: (taken, all) => [t('slots.long', { used: count(taken), all: count(all) }), t('slots', { used: count(taken), all: count(all) })],
    more: (requests) => `+${count(requests)}`,
  };
}

/** What one of several pools is called, the longest first. */
function namesOf(moment: Moment, { name }: PoolMoment, place: number): string[] {
  if (poolsOf(moment).length < 2) return [];
  return [name, String(place + 1)].filter((one) => one !== '');
}
