// What the page and the worker of the published results say to each other.
import type { Start } from '../simulation/start.js';
import type { ChartData, PublishedFigure } from '../simulation/types.js';
import type { Reply } from '../simulation/worker-link.js';

export const SUITES = ['S1', 'S2', 'S4'] as const;
export type Suite = (typeof SUITES)[number];

/** What was swept, in the order of the page. */
export const SWEEPS = ['n', 'R', 'cv', 'alpha', 'policies'] as const;
export type Sweep = (typeof SWEEPS)[number];

export interface Figures { figures: PublishedFigure[]; charts: ChartData[] }

export interface Sweeping { kind: 'sweep'; ticket: number; suite: Suite; sweep: Sweep }
export type ToPublished = Start | Sweeping;

export type FromPublished = Reply<Figures>;
