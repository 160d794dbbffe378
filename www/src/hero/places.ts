// The places of a moment: requests on their way, at the gateway, in queues and in the batch of each pool.
import type { Moment, PlaceKind, PoolMoment } from '../simulation/types.js';

/** How many requests are in all places of a kind. */
export function countAt(moment: Moment, kind: PlaceKind): number {
  return moment.places.reduce((sum, place) => sum + (place.kind === kind ? place.requests : 0), 0);
}

export function poolsOf({ places }: Moment): PoolMoment[] {
  return places.flatMap(({ pool }) => pool ?? []);
}

/** The part of the fleet's memory that is in use. */
export function usedShare(moment: Moment): number {
  const pools = poolsOf(moment);
  const sum = (of: (pool: PoolMoment) => number): number => pools.reduce((all, pool) => all + of(pool), 0);
  const memory = sum((pool) => pool.memory_tokens);
  return memory > 0 ? sum((pool) => pool.kv_tokens + pool.adapter_tokens) / memory : 0;
}

/** How long an iteration under way takes, on average over the replicas that compute; 0 where none does. */
export function iterationSeconds(moment: Moment): number {
  const pools = poolsOf(moment);
  const computing = pools.reduce((sum, pool) => sum + pool.computing, 0);
  return computing === 0 ? 0 : pools.reduce((sum, pool) => sum + pool.computing * pool.iteration_s, 0) / computing;
}
