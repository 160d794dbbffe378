// Starts the page: reads settings, compiles the module once, shares it with the worker, hangs the page up.
import '../style/main.css';
import { App } from '../app/app.js';
import type { WorkerPort } from '../simulation/worker-link.js';
import { TABLE_OF_DEFAULT } from '../simulation/default-table.js';
import type { ToWorker } from '../simulation/protocol.js';
import { loadModule, scenarioFromJson } from '../simulation/module.js';
import { share } from '../simulation/start.js';
import { messageOf } from '../simulation/types.js';
import { Languages } from '../i18n/languages.js';
import type { LightElement } from '../app/element.js';
import { keepForOffline } from '../offline/offline.js';
import { ServescopePage } from './servescope-page.js';
import { namesScenario, pageKeys } from '../state/address.js';
import { due, DueNow, showDue } from '../lib/due.js';
import { presetFiles, presetsOf } from '../state/presets.js';
import { initialSettings } from '../state/settings.js';
import { showRoles, showSettings } from './theme.js';
import { watchTrouble } from './trouble.js';
import { part, withEachPart } from '../lib/part.js';

const root = document.documentElement;
const settings = initialSettings(pageKeys(location.hash).lang);
const languages = new Languages();
showSettings(settings);
showDue(due, root);
withEachPart(() => languages.complete());

function spawn(): WorkerPort {
  return new Worker(new URL('../simulation/worker.ts', import.meta.url), { type: 'module' });
}

async function embedPage(): Promise<LightElement> {
  return new (await part(() => import('./embed-page.js'))).EmbedPage();
}

async function start(): Promise<void> {
  // The worker's script loads while the module is compiled, and the table of the default scenario where the address has no other.
  let first: WorkerPort | null = spawn();
  if (!namesScenario(location.hash)) first.postMessage({ kind: 'expect', page: document.baseURI, table: TABLE_OF_DEFAULT } satisfies ToWorker);
  // One that ends before the page listens is not handed on: the next one says why.
  first.onerror = () => { first = null; };
  const [module] = await Promise.all([loadModule(), languages.load(settings.value.language)]);
  const app = new App(settings, languages, presetsOf(presetFiles(), scenarioFromJson), () => {
    const worker = first ?? spawn();
    first = null;
    return worker;
  });
  watchTrouble(app);
  showRoles(app);
  const running = new DueNow('run');
  app.session.subscribe(({ state }) => {
    root.dataset['state'] = state;
    running.set(state === 'running');
  });
  app.belonging.stale.subscribe((stale) => {
    if (stale === null) delete root.dataset['stale'];
    else root.dataset['stale'] = stale.reason;
  });
  const page = app.embed === null ? new ServescopePage() : await embedPage();
  page.app = app;
  document.querySelector('#page')?.replaceChildren(page);
  app.start(share(module, document.baseURI));
  keepForOffline(app);
  addEventListener('online', () => { app.runWithNetwork(); });
}

start().catch((thrown: unknown) => {
  root.dataset['state'] = 'failed';
  const starting = document.querySelector('.starting');
  const message = languages.of(settings.value.language).t('page.start_failed', { message: messageOf(thrown) });
  if (starting !== null) starting.textContent = message;
  console.error(thrown);
});
