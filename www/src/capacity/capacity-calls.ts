// What a thread of the pool answers to the capacity search.
import type { Capacity, CapacityStanding, ChartData } from '../simulation/types.js';

/** `told`: why no higher rate passes and the notes, as the terminal writes them; with why there is no price. */
export interface Found { capacity: Capacity; told: { priced: string; unpriced: string }; charts: ChartData[] }

export interface Standings { standings: CapacityStanding[]; charts: ChartData[] }
