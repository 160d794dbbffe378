// What is wrong, or what should be known, a line each: the most severe first, and no more of them than a reader takes in.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import type { Diagnostic } from '../simulation/types.js';

/** Lines in sight; the others are folded. */
const MOST_LINES = 2;
const SEVERITIES: readonly Diagnostic['severity'][] = ['error', 'warning', 'note'];

export function mostSevereFirst(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  return SEVERITIES.flatMap((severity) => diagnostics.filter((one) => one.severity === severity));
}

/** The most severe as they are, the others behind a line that counts them. */
export function firstFew(app: App, diagnostics: readonly Diagnostic[], line: (diagnostic: Diagnostic) => TemplateResult, list: (lines: TemplateResult[]) => TemplateResult): TemplateResult {
  const lines = mostSevereFirst(diagnostics).map(line);
  const rest = lines.slice(MOST_LINES);
  return html`${list(lines.slice(0, MOST_LINES))}
    ${rest.length === 0 ? nothing : html`<details class="fold more-diagnostics"><summary>${app.text.t('warnings.more', { count: rest.length })}</summary>${list(rest)}</details>`}`;
}

export function diagnosticLines(app: App, diagnostics: readonly Diagnostic[], words: (diagnostic: Diagnostic) => string = (diagnostic) => app.named(diagnostic)): TemplateResult {
  return firstFew(app, diagnostics, (diagnostic) => html`
    <p class="notice ${diagnostic.severity}" role=${diagnostic.severity === 'error' ? 'alert' : nothing} data-code=${diagnostic.code}>${words(diagnostic)}</p>`, (lines) => html`${lines}`);
}
