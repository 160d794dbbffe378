// What a printed page has that the screen has not: every section open, every chart drawn, and below them the settings and the
// digest by which the run can be had again.
import type { App } from '../app.js';
import { command } from '../simulation/module.js';

export function preparePrints(app: App): void {
  let closed: HTMLDetailsElement[] = [];
  addEventListener('beforeprint', () => {
    closed = [...document.querySelectorAll<HTMLDetailsElement>('details.section:not([open]), details.headline-rest:not([open])')];
    for (const details of closed) details.open = true;
    app.scheduler.drawAll();
    colophon().replaceChildren(...lines(app));
  });
  addEventListener('afterprint', () => {
    for (const details of closed) details.open = false;
  });
}

function colophon(): HTMLElement {
  const known = document.querySelector<HTMLElement>('.colophon');
  if (known !== null) return known;
  const made = document.createElement('section');
  made.className = 'colophon';
  document.querySelector('main')?.append(made);
  return made;
}

/** The settings of the shown result that differ from the defaults, its digest, and the command that gives it. */
function lines(app: App): readonly HTMLElement[] {
  const { text, belonging, store, traceFile } = app;
  const values = belonging.shown?.values ?? store.values.value;
  const settings = app.schema.parameters.flatMap((parameter) => {
    const value = values[parameter.id];
    return value === undefined ? [] : [`${text.label(parameter)} (${parameter.id}): ${text.value(parameter, value)}`];
  });
  const digest = document.documentElement.dataset['digest'] ?? '';
  return [
    text.t('print.settings', { settings: settings.length === 0 ? text.t('print.defaults') : text.list(settings) }),
    text.t('print.digest', { digest }),
    command(values, traceFile.info.value?.name ?? traceFile.name ?? ''),
  ].map((line) => Object.assign(document.createElement('p'), { textContent: line }));
}
