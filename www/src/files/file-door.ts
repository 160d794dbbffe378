// Where files come in: they are dropped anywhere or chosen. What opens them is fetched with the first.
import type { App } from '../app/app.js';
import { part } from '../lib/part.js';

/** Opens files that were dropped or chosen together, as open-file.ts says. */
export async function openFiles(app: App, files: readonly File[], operatorTables?: () => Promise<void>): Promise<void> {
  const { openFiles: open } = await part(() => import('./open-file.js'));
  await open(app, files, operatorTables);
}

/** Asks for files, which are opened as those that are dropped. */
export function chooseFiles(): void {
  document.querySelector<HTMLInputElement>('page-header input[type=file]')?.click();
}

/** Lets files be dropped anywhere on the page. `over` hears whether one hangs over it. */
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
    void openFiles(app, [...(event.dataTransfer?.files ?? [])]);
  });
}
