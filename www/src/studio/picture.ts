// What a picture of a chart is made from.
import type { ChartData } from '../simulation/types.js';

export interface Picture { chart: ChartData; ghost: ChartData | null; dark: boolean; width: number; height: number; chinese: boolean }
