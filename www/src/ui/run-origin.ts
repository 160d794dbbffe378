// Where what is shown comes from: for prints and files that leave the page.
import type { App } from '../app/app.js';
import { command } from '../simulation/module.js';

/** The settings of the shown result that differ from the defaults, its digest, and the command that gives it. */
export function originLines(app: App): readonly [settings: string, digest: string, command: string] {
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
  ];
}
