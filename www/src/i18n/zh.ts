// Chinese as the first picture needs it: a script of its own, fetched only where Chinese is chosen. The other areas follow with the
// scripts that show them.
import type { AreaName, Table } from './area.js';
import type { Tables } from './text.js';
import { diagnostics } from './zh/diagnostics.js';
import { module } from './zh/module.js';
import { names } from './zh/names.js';
import { options } from './zh/options.js';
import { page } from './zh/page.js';
import { parameters } from './zh/parameters.js';

export const zh = { areas: { diagnostics, names, options, page }, parameters, module } satisfies Tables;

type LaterArea = Exclude<AreaName, keyof typeof zh.areas>;

const LATER: Readonly<Record<LaterArea, () => Promise<Table>>> = {
  capacity: () => import('./zh/capacity.js').then(({ capacity }) => capacity),
  compare: () => import('./zh/compare.js').then(({ compare }) => compare),
  debugger: () => import('./zh/debugger.js').then(({ debuggerTexts }) => debuggerTexts),
  deployment: () => import('./zh/deployment.js').then(({ deployment }) => deployment),
  essay: () => import('./zh/essay.js').then(({ essay }) => essay),
  figure: () => import('./zh/figure.js').then(({ figure }) => figure),
  gateway: () => import('./zh/gateway.js').then(({ gateway }) => gateway),
  help: () => import('./zh/help.js').then(({ help }) => help),
  hero: () => import('./zh/hero.js').then(({ hero }) => hero),
  lessons: () => import('./zh/lessons.js').then(({ lessons }) => lessons),
  measured: () => import('./zh/measured.js').then(({ measured }) => measured),
  measured_run: () => import('./zh/measured_run.js').then(({ measuredRun }) => measuredRun),
  metrics: () => import('./zh/metrics.js').then(({ metrics }) => metrics),
  monitor: () => import('./zh/monitor.js').then(({ monitor }) => monitor),
  opening: () => import('./zh/opening.js').then(({ opening }) => opening),
  own_model: () => import('./zh/own_model.js').then(({ ownModel }) => ownModel),
  own_request: () => import('./zh/own_request.js').then(({ ownRequest }) => ownRequest),
  profile: () => import('./zh/profile.js').then(({ profile }) => profile),
  replicas: () => import('./zh/replicas.js').then(({ replicas }) => replicas),
  search: () => import('./zh/search.js').then(({ search }) => search),
  sweep: () => import('./zh/sweep.js').then(({ sweep }) => sweep),
  crossover: () => import('./zh/crossover.js').then(({ crossover }) => crossover),
  validation: () => import('./zh/validation.js').then(({ validation }) => validation),
  why: () => import('./zh/why.js').then(({ why }) => why),
  workload: () => import('./zh/workload.js').then(({ workload }) => workload),
};

/** By area, those that come with the scripts that show them. */
export const laterAreas: Readonly<Partial<Record<AreaName, () => Promise<Table>>>> = LATER;

/** Every area, for checks of all texts. */
export async function wholeChinese(): Promise<typeof zh & { areas: Record<AreaName, Table> }> {
  const later = await Promise.all(Object.entries(LATER).map(async ([name, fetch]) => [name, await fetch()] as const));
  return { ...zh, areas: { ...Object.fromEntries(later) as Record<LaterArea, Table>, ...zh.areas } };
}
