// Everything that can be taken out of the page: the settings as a link, a command or a file, and the run as files.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { copied, copyVllmCommand } from '../ui/copy.js';
import { download, downloadText } from '../draw/export-chart.js';
import { Refusal } from '../simulation/worker-link.js';
import { command, deploymentFile, scenarioJson, vllmServe, type Platform } from '../simulation/module.js';
import type { ExportKind } from '../simulation/types.js';
import type { MessageKey } from '../i18n/text.js';
import { menuItem } from '../ui/menu.js';
import { refused, tellOfControls } from '../ui/belonging-words.js';
import { part } from '../lib/part.js';

const FROM_RUN: readonly { label: MessageKey; what: ExportKind; type: string }[] = [
  { label: 'export.summary', what: 'summary.json', type: 'application/json' },
  { label: 'export.requests', what: 'requests.csv', type: 'text/csv' },
  { label: 'export.batches', what: 'batches.csv', type: 'text/csv' },
  { label: 'export.chrome', what: 'trace.json', type: 'application/json' },
];

const PLATFORMS: readonly { label: MessageKey; platform: Platform; file: string }[] = [
  { label: 'export.llm_d', platform: 'llm-d', file: 'llm-d-values.yaml' },
  { label: 'export.dynamo', platform: 'dynamo', file: 'dynamo-deployment.yaml' },
];

/** The site that `perfetto.ts` talks to. */
const PERFETTO = 'https://ui.perfetto.dev';

export function shareItems(app: App): TemplateResult {
  const { t } = app.text;
  const group = (name: MessageKey): TemplateResult => html`<small class="menu-group">${t(name)}</small>`;
  return html`
    ${group('share.settings')}
    ${menuItem('link', t('share.link'), () => { void copy(app, app.link(), 'notice.link_copied'); })}
    ${menuItem('command', t('share.command'), () => { void copy(app, command(app.store.values.value, traceName(app)), 'notice.command_copied'); })}
    ${menuItem('vllm_serve', html`${t('export.vllm_serve')}<small>${t('export.vllm_serve.about')}</small>`, () => { void copyVllmServe(app); })}
    ${PLATFORMS.map(({ label, platform, file }) => menuItem(platform, t(label), () => { void exportDeployment(app, platform, file); }))}
    ${menuItem('scenario', t('export.scenario'), () => {
      tellOfControls(app);
      downloadText('servescope-scenario.json', scenarioJson(app.store.values.value), 'application/json');
    })}
    ${menuItem('workload', t('export.workload'), () => { void exportWorkload(app); })}
    ${group('share.run')}
    ${FROM_RUN.map(({ label, what, type }) => menuItem(what, t(label), () => { void exportRun(app, what, type); }))}
    ${app.store.resolved.values['cost.kind'] === 'linear' ? nothing : menuItem('operators.csv', t('export.operators'), () => { void exportRun(app, 'operators.csv', 'text/csv'); })}
    ${app.store.resolved.values['scheduler.kind'] === 'slora' && app.store.resolved.values['gateway.kind'] === 'direct' ? nothing : menuItem('events.csv', t('export.events'), () => { void exportRun(app, 'events.csv', 'text/csv'); })}
    ${menuItem('perfetto', html`${t('export.perfetto')}<small>${t('export.perfetto.about')}</small>`, () => { void openInPerfetto(app); })}
    ${menuItem('charts', t('export.charts'), () => { void exportCharts(app); })}
    ${menuItem('cite', html`${t('share.cite')}<small>${t('share.cite.about')}</small>`, () => { void cite(app); })}`;
}

async function copy(app: App, what: string, done: MessageKey): Promise<void> {
  if (!await copied(app, what) || tellOfControls(app)) return;
  app.notices.info(done.replace('notice.', ''), () => app.text.t(done));
}

function traceName({ traceFile }: App): string {
  return traceFile.info.value?.name ?? traceFile.name ?? '';
}

async function cite(app: App): Promise<void> {
  if (refused(app)) return;
  const { citation } = await part(() => import('../draw/cite.js'));
  await copy(app, citation(app), 'notice.bibtex_copied');
}

async function exportRun(app: App, what: ExportKind, type: string): Promise<void> {
  if (refused(app)) return;
  await attempt(app, async () => { downloadText(`servescope-${what}`, await app.ask({ kind: 'export', what }), type); });
}

async function copyVllmServe(app: App): Promise<void> {
  await attempt(app, async () => {
    await copyVllmCommand(app, vllmServe(app.store.values.value, app.traceFile.info.value?.traffic));
  });
}

async function exportDeployment(app: App, platform: Platform, file: string): Promise<void> {
  await attempt(app, () => {
    downloadText(file, deploymentFile(app.store.values.value, platform), 'application/yaml');
    return Promise.resolve();
  });
}

/** A failure is reported. */
async function attempt(app: App, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    const errors = thrown instanceof Refusal ? thrown.errors : [];
    app.notices.error('export_failed', () => app.text.t('notice.export_failed', { message: app.text.diagnostics(errors) }));
  }
}

/** Opens the window at once, while the click lasts: one that opens later is blocked. */
async function openInPerfetto(app: App): Promise<void> {
  if (refused(app)) return;
  const viewer = window.open(PERFETTO);
  if (viewer === null) {
    app.notices.error('perfetto_blocked', () => app.text.t('notice.perfetto_blocked'));
    return;
  }
  await attempt(app, async () => { await (await part(() => import('./perfetto.js'))).handOver(app, viewer); });
}

/** The requests as they were simulated; the workload tab writes them in every other format. */
async function exportWorkload(app: App): Promise<void> {
  if (refused(app, 'traffic')) return;
  tellOfControls(app);
  await attempt(app, async () => {
    const studio = await app.traceFile.studio();
    await studio.call('select', { scenario: app.store.values.value });
    download('servescope-workload.csv', new Blob([(await studio.call('export', { format: 'servescope' })).bytes], { type: 'text/csv' }));
  });
}

async function exportCharts(app: App): Promise<void> {
  if (refused(app)) return;
  await attempt(app, async () => {
    const [{ chartsDocument }, { feedOfChart }] = await Promise.all([part(() => import('../draw/charts-file.js')), part(() => import('../gateway/feed-of-chart.js'))]);
    downloadText('servescope-charts.html', await chartsDocument(app, feedOfChart), 'text/html');
  });
}
