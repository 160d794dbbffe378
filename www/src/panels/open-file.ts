// A file that was dropped or chosen: a scenario of ours, the config.json of a model, or a trace of requests.
import type { App } from '../app.js';
import { scenarioFromJson } from '../simulation/module.js';
import { errorsOf } from '../simulation/types.js';
import { part } from '../part.js';

export async function openFile(app: App, file: File): Promise<void> {
  if (file.name.toLowerCase().endsWith('.json')) await openScenario(app, file);
  else await app.traceFile.load(file);
}

async function openScenario(app: App, file: File): Promise<void> {
  const text = await file.text();
  try {
    app.editor.replace(scenarioFromJson(text), 'file');
    app.notices.info('scenario_opened', () => app.text.t('notice.scenario_opened', { name: file.name }));
  } catch (thrown) {
    const errors = errorsOf(thrown);
    if (errors.some(({ code }) => code === 'not_a_scenario') && text.includes('"model_type"')) {
      const { takeModel } = await part(() => import('../profile/own-model.js'));
      await takeModel(app, file.name, text);
      return;
    }
    app.notices.error('scenario_failed', () => app.text.t('notice.scenario_failed', { name: file.name, message: app.text.diagnostics(errors, (error) => app.named(error)) }));
  }
}

/** Lets a file be dropped anywhere on the page. `over` hears whether one hangs over it. */
export function acceptDrops(app: App, over: (hanging: boolean) => void): void {
  const carriesFile = (event: DragEvent): boolean => event.dataTransfer?.types.includes('Files') === true;
  addEventListener('dragover', (event) => {
    if (!carriesFile(event)) return;
    event.preventDefault();
    over(true);
  });
  addEventListener('dragleave', (event) => { if (event.relatedTarget === null) over(false); });
  addEventListener('drop', (event) => {
    if (!carriesFile(event)) return;
    event.preventDefault();
    over(false);
    const file = event.dataTransfer?.files[0];
    if (file !== undefined) void openFile(app, file);
  });
}
