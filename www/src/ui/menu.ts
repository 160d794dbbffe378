// A button that opens a small list. It closes when something is chosen, on Escape, and when the focus or a click goes
// elsewhere.
import { html, nothing, type TemplateResult } from 'lit';

interface Menu { label: unknown; name?: string; content: unknown; className?: string }

export function menu({ label, name, content, className = '' }: Menu): TemplateResult {
  return html`
    <details class="menu ${className}" @keydown=${onKey} @focusout=${onFocusOut}>
      <summary aria-label=${name ?? nothing}>${label}</summary>
      <div class="menu-list" @click=${onChoice}>${content}</div>
    </details>`;
}

/** `item` names it in the document. */
export function menuItem(item: string, label: unknown, choose: () => void): TemplateResult {
  return html`<button type="button" data-item=${item} @click=${choose}>${label}</button>`;
}

function onChoice(event: Event): void {
  if ((event.target as Element).closest('button, a') !== null) close(event.currentTarget as Element);
}

function onKey(event: KeyboardEvent): void {
  const details = event.currentTarget as HTMLDetailsElement;
  if (event.key !== 'Escape' || !details.open) return;
  event.stopPropagation();
  close(details);
  details.querySelector('summary')?.focus();
}

function onFocusOut({ currentTarget, relatedTarget }: FocusEvent): void {
  const details = currentTarget as HTMLDetailsElement;
  if (relatedTarget instanceof Node && !details.contains(relatedTarget)) details.open = false;
}

/** Closes what was left open when the pointer goes down elsewhere: not every browser moves the focus then. */
export function closeMenusOutside(event: Event): void {
  for (const details of document.querySelectorAll<HTMLDetailsElement>('details.menu[open]')) {
    if (!details.contains(event.target as Node)) details.open = false;
  }
}

function close(inside: Element): void {
  const details = inside.closest('details');
  if (details !== null) details.open = false;
}
