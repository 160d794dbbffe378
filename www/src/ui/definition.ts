// A word with its definition, in a popover: by pointer, touch and keyboard, closed by Esc or a press elsewhere.
import { html, type TemplateResult } from 'lit';

const GAP_PX = 4;
const EDGE_PX = 8;

/** `id` is the popover's, one on the page. */
export function definition(id: string, word: string | TemplateResult, about: string): TemplateResult {
  return html`<button type="button" class="term" popovertarget=${id}>${word}</button><span popover class="definition" id=${id} @toggle=${place}>${about}</span>`;
}

/** Below its word, inside the window. */
function place(event: ToggleEvent): void {
  const { target, newState } = event;
  if (!(target instanceof HTMLElement) || newState !== 'open') return;
  const word = target.previousElementSibling?.getBoundingClientRect();
  if (word === undefined) return;
  const { width, height } = target.getBoundingClientRect();
  const below = word.bottom + GAP_PX;
  target.style.left = `${String(Math.max(EDGE_PX, Math.min(word.left, innerWidth - width - EDGE_PX)))}px`;
  target.style.top = `${String(below + height > innerHeight ? Math.max(EDGE_PX, word.top - height - GAP_PX) : below)}px`;
}
