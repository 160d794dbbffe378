// A task that takes a while: how far it is, and how to stop it or go on with it.
import { html, nothing, type TemplateResult } from 'lit';

interface Act { words: string; run: () => void }

interface ProgressLine {
  state: 'none' | 'running' | 'ready' | 'stopped' | 'failed';
  /** 0..1. */
  share: number;
  label: string;
  /** The text beside the bar; nothing where it is empty. */
  reported: string;
  stop: Act;
  again: Act;
  /** The states from which the task can go on. */
  resumes?: readonly ProgressLine['state'][];
  more?: TemplateResult | typeof nothing;
}

export function progressLine({ state, share, label, reported, stop, again, resumes = ['stopped'], more = nothing }: ProgressLine): TemplateResult {
  const button = (action: string, { words, run }: Act): TemplateResult => html`<button type="button" data-action=${action} @click=${run}>${words}</button>`;
  return html`
    <div class="search-state">
      <progress max="1" .value=${share} ?hidden=${state !== 'running'} aria-label=${label}></progress>
      <span ?hidden=${reported === ''}>${reported}</span>
      ${state === 'running' ? button('stop', stop) : nothing}
      ${resumes.includes(state) ? button('again', again) : nothing}
      ${more}
    </div>`;
}
