// The sections of Explore that are fetched when they are first opened, and the tabs beside it: a row each.
import type { App } from '../app/app.js';
import type { MessageKey } from '../i18n/text.js';
import { part } from '../lib/part.js';
import type { Tab } from '../state/session.js';
import { partsOf, type Watchable } from '../lib/topic.js';

/** What is fetched: an element, which hears whether its fold is open where that matters to it. */
export type Fetched = HTMLElement & { show?: (open: boolean) => void };

/** Where in Explore a section stands: above the results, under the headline numbers, in one of the sections that are always there, or at the end. */
export type Place = 'above' | 'headline' | 'happens' | 'feel' | 'who' | 'end';

export interface LateSection {
  id: string;
  title: MessageKey;
  at: Place;
  /** Classes of its fold. */
  fold?: string;
  /** Whether what the page shows or its settings ask for it to be open. */
  isOpen?: (app: App) => boolean;
  /** What that depends on beside the view and the shown result. */
  watched?: (app: App) => Watchable[];
  /** A reader opened or closed it, where the page or its address keeps that. */
  toggled?: (app: App, open: boolean) => void;
  load: (app: App) => Promise<Fetched>;
}

export const LATE_SECTIONS: readonly LateSection[] = [
  {
    id: 'source', title: 'section.source', at: 'above', fold: 'traffic-source of-traffic',
    isOpen: (app) => app.view.value.source,
    toggled: (app, open) => { app.showSource(open); },
    load: (app) => part(() => import('../workload/workload-page.js')).then(({ workloadPage }) => workloadPage(app)),
  },
  {
    id: 'own', title: 'section.own_request', at: 'headline',
    isOpen: (app) => Number(app.store.values.value['workload.extra_request.input_tokens'] ?? 0) > 0,
    load: (app) => part(() => import('../own-request/own-request.js')).then(({ ownRequest }) => ownRequest(app)),
  },
  {
    id: 'compare', title: 'section.compare', fold: 'compare', at: 'headline',
    isOpen: (app) => app.pins.value.length > 0,
    watched: (app) => [app.pins],
    load: (app) => part(() => import('../compare/compare-section.js')).then(({ compareSection }) => compareSection(app)),
  },
  {
    id: 'debugger', title: 'section.debugger', at: 'happens',
    isOpen: (app) => app.step.value !== null,
    watched: (app) => [partsOf(app.step, (step) => step !== null)],
    toggled: (app, open) => { if (open !== (app.step.value !== null)) app.step.set(open ? 0 : null); },
    load: (app) => part(() => import('../debugger/debugger-section.js')).then(({ debuggerSection }) => debuggerSection(app)),
  },
  {
    id: 'why', title: 'section.why', at: 'feel',
    load: (app) => part(() => import('../why/why-section.js')).then(({ whySection }) => whySection(app)),
  },
  {
    id: 'monitor', title: 'section.monitor', fold: 'monitor', at: 'who',
    load: (app) => part(() => import('../monitor/monitor-section.js')).then(({ monitorSection }) => monitorSection(app)),
  },
  {
    id: 'sweep', title: 'section.sweep', fold: 'sweep', at: 'end',
    isOpen: (app) => app.sweep.value !== null,
    watched: (app) => [app.sweep],
    load: (app) => part(() => import('../sweep/sweep-section.js')).then(({ sweepSection }) => sweepSection(app)),
  },
];

export interface LateTab {
  id: Exclude<Tab, 'explore'>;
  fold?: string;
  /** Its links to settings of this page lead to Explore, which says where they come from. */
  leads?: boolean;
  load: (app: App) => Promise<Fetched>;
}

/** The essay is fetched where Learn is looked at, and not for one of its lessons. */
export async function learnTab(app: App): Promise<HTMLElement> {
  const { learnPage } = await part(() => import('../lessons/learn-page.js'));
  return learnPage(app, () => part(() => import('../essay/essay-view.js')).then(({ essayView }) => essayView(app)));
}

export const LATE_TABS: readonly LateTab[] = [
  { id: 'learn', load: (app) => learnTab(app) },
  { id: 'plan', fold: 'of-traffic', load: (app) => part(() => import('../capacity/capacity-page.js')).then(({ capacityPage }) => capacityPage(app)) },
  { id: 'validation', leads: true, load: (app) => part(() => import('../validation/validation-page.js')).then(({ validationPage }) => validationPage(app)) },
];
