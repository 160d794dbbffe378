// What a thread of the pool answers to the capacity search.
import type { Capacity, CapacityStanding, ChartData } from '../simulation/types.js';

/** `described` as the terminal writes it: why no higher rate passes and the notes; the same with why there is no price; the limit that binds. */
export interface Found { capacity: Capacity; described: { priced: string; unpriced: string; binding: string }; charts: ChartData[] }

export interface Standings { standings: CapacityStanding[]; charts: ChartData[] }
