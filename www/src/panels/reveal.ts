// Brings a control into sight, wherever it is folded away, and puts the focus on it.
import type { App } from '../app.js';
import type { Parameter } from '../simulation/types.js';

export function reveal(app: App, { id, group }: Parameter): void {
  // Its controls stand in a view of their own.
  if (group === 'capacity') app.show('plan');
  const control = document.querySelector<HTMLElement>(`[data-parameter="${id}"]`);
  if (control === null) return;
  for (let folded = control.closest('details'); folded !== null; folded = folded.parentElement?.closest('details') ?? null) folded.open = true;
  // On a narrow screen all but a few controls are in a sheet that is closed.
  if (!control.checkVisibility()) document.querySelector<HTMLElement>('.sheet-handle[aria-expanded=false]')?.click();
  requestAnimationFrame(() => {
    control.scrollIntoView({ block: 'center' });
    const input = control.querySelector<HTMLElement>('select:enabled, input:enabled') ?? control.querySelector('button');
    input?.focus({ preventScroll: true });
  });
}
