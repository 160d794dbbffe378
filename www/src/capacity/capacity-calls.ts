// What a thread of the pool answers to the capacity search.
import type { Capacity, CapacityStanding, ChartData } from '../simulation/types.js';

export interface Found { capacity: Capacity; charts: ChartData[] }

export interface Standings { standings: CapacityStanding[]; charts: ChartData[] }
