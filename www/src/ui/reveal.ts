// Brings a control or a chart into sight, wherever it is folded away, and puts the focus on it.
import type { App } from '../app/app.js';
import type { Parameter } from '../simulation/types.js';
import { TABS, type Tab } from '../state/session.js';

/** Frames that are waited for a part of the page that is being fetched. */
const FRAMES = 240;
const OFFER_FRAMES = 60;

export function reveal(app: App, { id, group }: Parameter): void {
  // Its controls stand in a view of their own.
  const away = group === 'capacity';
  if (away) app.show('plan');
  else if (hasNoControls(app)) app.show('explore');
  whenThere(`[data-parameter="${id}"]`, away ? FRAMES : 1, (control) => {
    unfold(control);
    // On a narrow screen all but a few controls are in a sheet that is closed.
    if (!control.checkVisibility()) document.querySelector<HTMLElement>('.sheet-handle[aria-expanded=false]')?.click();
    // What is unfolded is there in the next frame, and offers to make itself apply a moment later.
    requestAnimationFrame(() => {
      whenThere('select:enabled, input:enabled, [data-use]', OFFER_FRAMES, (input) => {
        control.scrollIntoView({ block: 'center' });
        input.focus({ preventScroll: true });
      }, control, () => { control.querySelector<HTMLElement>('.what')?.focus(); });
    });
  });
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
