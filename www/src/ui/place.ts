// Where a popover stands: below what opens it, inside the window.
const GAP_PX = 4;
const EDGE_PX = 8;

/** Of a popover that stands behind its button. */
export function placeBelow({ target, newState }: ToggleEvent): void {
  if (!(target instanceof HTMLElement) || newState !== 'open') return;
  const button = target.previousElementSibling?.getBoundingClientRect();
  if (button === undefined) return;
  const { width, height } = target.getBoundingClientRect();
  const below = button.bottom + GAP_PX;
  target.style.left = `${String(Math.max(EDGE_PX, Math.min(button.left, innerWidth - width - EDGE_PX)))}px`;
  const top = below + height > innerHeight ? button.top - height - GAP_PX : below;
  target.style.top = `${String(Math.max(EDGE_PX, Math.min(top, innerHeight - height - EDGE_PX)))}px`;
}
