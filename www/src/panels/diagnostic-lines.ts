// What is wrong, or what should be known, a line each, by its severity.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app.js';
import type { Diagnostic } from '../simulation/types.js';

export function diagnosticLines(app: App, diagnostics: readonly Diagnostic[], words: (diagnostic: Diagnostic) => string = (diagnostic) => app.named(diagnostic)): TemplateResult[] {
  return diagnostics.map((diagnostic) => html`
    <p class="notice ${diagnostic.severity}" role=${diagnostic.severity === 'error' ? 'alert' : nothing} data-code=${diagnostic.code}>${words(diagnostic)}</p>`);
}
