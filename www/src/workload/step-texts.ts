// What the studio’s module names: its steps, their fields, what a step did and why one was refused. The module says it in
// English; other languages have their own texts for its codes.
import type { App } from '../app/app.js';
import type { Fact, Diagnostic, FitRow, StepField, StepKind } from '../simulation/types.js';
import type { Loss } from '../generated/parameters.js';
import type { Params } from '../i18n/area.js';
import { workload } from '../i18n/en/workload.js';

export function stepLabel({ text }: App, name: string): string {
  return text.ofModule(`step.${name}`) ?? name.replaceAll('_', ' ');
}

export function stepHelp({ text }: App, { name, help }: StepKind): string {
  return text.ofModule(`step.${name}.about`) ?? help;
}

export function fieldWords({ text }: App, step: string, { name, help }: StepField): string {
  return text.ofModule(`field.${step}.${name}`) ?? help;
}

export function factWords(app: App, fact: Fact): string {
  return filled(app, app.text.ofModule(`fact.${fact.code}`), fact);
}

export function noticeWords(app: App, fact: Fact): string {
  return filled(app, app.text.ofModule(`note.${fact.code}`), fact);
}

/** A step's refusal has a code of the studio's own. */
export function refusalWords(app: App, error: Diagnostic): string {
  const code = error.code.replace(/^step\./, '');
  if (code === error.code) return app.text.diagnostic(error);
  return filled(app, app.text.ofModule(`refusal.${code}`), error);
}

/** What an export left out. The compiler checks that every loss has a word. */
export function lossWords({ text }: App, lost: readonly string[]): string {
  return text.list(lost.map((loss) => text.say(workload)(`loss.${loss as Loss}`)));
}

export function modelLabel({ text }: App, model: string): string {
  return text.ofModule(`model.${model}`) ?? model.replaceAll('_', ' ').replace('mle', '(MLE)');
}

export function modelAbout({ text }: App, { model, about }: FitRow): string {
  return text.ofModule(`model.${model}.about`) ?? about;
}

function filled({ text }: App, template: string | undefined, { message, params }: { message: string; params: Params }): string {
  if (template === undefined) return message;
  const short = Object.fromEntries(Object.entries(params).map(([name, value]) => [name, typeof value === 'number' ? text.format.short(value) : value]));
  return text.fill(template, short);
}
