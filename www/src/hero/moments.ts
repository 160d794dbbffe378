// Moments for tests of the picture.
import type { Moment, Place, PlaceKind, PoolMoment } from '../simulation/types.js';

export const SHARES = [22, 12, 20, 28, 18];

export const pool = (name: string, own: Partial<PoolMoment> = {}): PoolMoment => ({
  name, computing: 0, loading: 0, replicas: 1, starting: 0, draining: 0, seats: 1, most_seats: 256, lora_slots: null, prompt_tokens: 0, decodes: 0, iteration_s: 0,
  kv_tokens: 0, adapter_tokens: 0, memory_tokens: 100, ...own,
});

export const place = (kind: PlaceKind, ids: number[] = [], own: Partial<Place> = {}): Place => ({
  kind, requests: ids.length, ids, users: ids.map(() => 0), adapters: ids.map(() => null), prompt_tokens: ids.map(() => 10), output_tokens: ids.map(() => 0), coming_s: [], phases: [],
  replicas: ids.map(() => 0), seats: ids.map((_, seat) => seat), pool: kind === 'pool' ? pool('', { seats: Math.max(1, ids.length) }) : null, ...own,
});

export const momentOf = (...places: Place[]): Moment => ({ time_s: 0, long_tokens: 1_000, last_arrival_s: 0, end_s: 1, rejected: 0, places });
