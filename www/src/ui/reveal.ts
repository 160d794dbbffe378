// Brings a control or a chart into sight, wherever it is folded away, and puts the focus on it.
import type { App } from '../app/app.js';
import type { Parameter } from '../simulation/types.js';
import { TABS, type Tab } from '../state/session.js';

/** Frames that are waited for a part of the page that is being fetched. */
const FRAMES = 240;
const OFFER_FRAMES = 60;

/** Groups whose controls are no part of the side column: the tab they stand in, and the section that is fetched when it is unfolded. */
const AWAY: Readonly<Record<string, { tab: Tab; section: string | null }>> = {
  capacity: { tab: 'plan', section: null },
  extra_request: { tab: 'explore', section: 'own' },
};

/** Whether the controls of a group stand in the side column. */
export function isInSideColumn(group: string): boolean {
  return !Object.hasOwn(AWAY, group);
}

export function reveal(app: App, { id, group }: Parameter): void {
  const away = AWAY[group];
  if (away !== undefined) goTo(app, away);
  else if (hasNoControls(app)) app.show('explore');
  whenThere(`[data-parameter="${id}"]`, away === undefined ? 1 : FRAMES, (control) => {
    unfold(control);
    // On a narrow screen all but a few controls are in a sheet that is closed.
    if (away === undefined && !control.checkVisibility()) document.querySelector<HTMLElement>('.sheet-handle[aria-expanded=false]')?.click();
    // What is unfolded is there in the next frame, and offers to make itself apply a moment later.
    requestAnimationFrame(() => {
      whenThere('select:enabled, input:enabled, [data-use]', OFFER_FRAMES, (input) => {
        control.scrollIntoView({ block: 'center' });
        input.focus({ preventScroll: true });
      }, control, () => { control.querySelector<HTMLElement>('.what')?.focus(); });
    });
  });
}

function goTo(app: App, { tab, section }: { tab: Tab; section: string | null }): void {
  if (app.view.value.tab !== tab) app.show(tab);
  const fold = section === null ? null : document.querySelector<HTMLDetailsElement>(`details[data-fold="${section}"]`);
  if (fold !== null) fold.open = true;
}

export function revealChart(app: App, name: string): void {
  const chart = document.querySelector<HTMLElement>(`[data-chart="${name}"]`);
  if (chart === null) return;
  const view = chart.closest<HTMLElement>('[data-view]')?.dataset['view'];
  const tab = TABS.find((known) => known === view);
  if (tab !== undefined && app.view.value.tab !== tab) app.show(tab);
  unfold(chart);
  requestAnimationFrame(() => {
    whenThere('.plot', OFFER_FRAMES, (plot) => {
      chart.scrollIntoView({ block: 'center' });
      plot.focus({ preventScroll: true });
    }, chart);
  });
}

/** A section of the page, unfolded; in another tab it may have to be fetched. */
export function revealSection(app: App, { tab, selector }: { tab: Tab; selector: string }): void {
  if (app.view.value.tab !== tab || app.view.value.lesson !== null) app.show(tab);
  whenThere(selector, FRAMES, (section) => {
    unfold(section);
    requestAnimationFrame(() => {
      section.scrollIntoView({ block: 'start' });
      section.querySelector<HTMLElement>('summary, button, a, input')?.focus({ preventScroll: true });
    });
  });
}

/** Whether the sidebar is not shown in the present view. */
function hasNoControls({ view }: App): boolean {
  return view.value.tab === 'learn' || view.value.tab === 'validation';
}

function unfold(element: HTMLElement): void {
  for (let folded = element.closest('details'); folded !== null; folded = folded.parentElement?.closest('details') ?? null) folded.open = true;
}

function whenThere(selector: string, frames: number, then: (element: HTMLElement) => void, within: ParentNode = document, otherwise = (): void => undefined): void {
  const element = within.querySelector<HTMLElement>(selector);
  if (element !== null) then(element);
  else if (frames > 0) requestAnimationFrame(() => { whenThere(selector, frames - 1, then, within, otherwise); });
  else otherwise();
}
