// A button that opens a small list, a popover: it closes when something is chosen, on Escape, and on a press elsewhere.
import { html, nothing, type TemplateResult } from 'lit';
import { placeBelow } from './place.js';

/** `id` is the list's, one on the page. */
interface Menu { id: string; label: unknown; name?: string; content: unknown; className?: string }

export function menu({ id, label, name, content, className = '' }: Menu): TemplateResult {
  return html`
    <div class="menu ${className}">
      <button type="button" class="menu-button" popovertarget=${id} aria-label=${name ?? nothing}>${label}</button>
      <div popover class="menu-list" id=${id} @toggle=${placeBelow} @click=${onChoice}>${content}</div>
    </div>`;
}

/** `item` names it in the document. */
export function menuItem(item: string, label: unknown, choose: () => void): TemplateResult {
  return html`<button type="button" data-item=${item} @click=${choose}>${label}</button>`;
}

function onChoice({ target, currentTarget }: Event): void {
  if ((target as Element).closest('button, a') !== null) (currentTarget as HTMLElement).hidePopover();
}
