// A word with its definition, in a popover: by pointer, touch and keyboard, closed by Esc or a press elsewhere.
import { html, type TemplateResult } from 'lit';
import { placeBelow } from './place.js';

/** `id` is the popover's, one on the page. */
export function definition(id: string, word: string | TemplateResult, about: string): TemplateResult {
  return html`<button type="button" class="term" popovertarget=${id}>${word}</button><span popover class="definition" id=${id} @toggle=${placeBelow}>${about}</span>`;
}
