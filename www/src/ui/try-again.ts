// Why something that was asked for is not there, with a button that asks once more.
import { html, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { codesOf, type Diagnostic } from '../simulation/types.js';

export function tryAgain({ text }: App, errors: readonly Diagnostic[], again: () => void): TemplateResult {
  return html`<p class="notice error" role="alert" data-code=${codesOf(errors)}>${text.diagnostics(errors)}
    <button type="button" data-action="again" @click=${again}>${text.t('tab.again')}</button></p>`;
}
