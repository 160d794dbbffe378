// A file that was dropped or chosen anywhere: what it is is decided from its beginning, and it is opened where it belongs.
import type { App } from '../app/app.js';
import { measuredFiles } from '../state/measured-files.js';
import { part } from '../lib/part.js';
import { parseLink } from '../simulation/module.js';
import { codesOf, type RecognisedFile, type ScenarioPatch } from '../simulation/types.js';
import { Refusal } from '../simulation/worker-link.js';
import type { StudioLink } from '../studio/studio-link.js';

/** A thread of its own: the one that reads requests may be at a large file. */
let desk: Promise<StudioLink> | null = null;

async function reader(): Promise<StudioLink> {
  desk ??= part(() => import('../studio/studio-link.js')).then(({ StudioLink: Link }) => new Link(() => undefined, () => undefined)).catch((thrown: unknown) => {
    desk = null;
    throw thrown;
  });
  return desk;
}

/** What a file is, and where it is a launch line or an adapter what it makes of a scenario. */
export async function recognised(file: File, scenario: ScenarioPatch): Promise<RecognisedFile> {
  return (await reader()).call('recognise', { file, scenario });
}

/** Whether a file stands beside the config.json of a model: the format of its weights. */
function isQuantization({ name }: File): boolean {
  return name === 'hf_quant_config.json';
}

/** Opens files that were dropped or chosen together: the first decides what they are, but for one that stands beside a model's. `operatorTables` takes those where they were
    dropped on the place for them. */
export async function openFiles(app: App, files: readonly File[], operatorTables?: () => Promise<void>): Promise<void> {
  const file = files.find((one) => !isQuantization(one)) ?? files[0];
  if (file === undefined) return;
  try {
    const found = await recognised(file, app.store.values.value);
    if (found.kind === 'operator_table' && operatorTables !== undefined) await operatorTables();
    else await openAs(app, files, file, found);
  } catch (thrown) {
    if (!(thrown instanceof Refusal)) throw thrown;
    app.notices.error(`scenario_failed ${codesOf(thrown.errors)}`, () => app.text.t('notice.scenario_failed', { name: file.name, message: app.text.diagnostics(thrown.errors, (error) => app.named(error)) }));
  }
}

export async function openAs(app: App, files: readonly File[], file: File, found: RecognisedFile): Promise<void> {
  const { name } = file;
  switch (found.kind) {
    case 'scenario': {
      const { scenario } = await (await reader()).call('scenario', { file });
      app.editor.replace(scenario, 'file');
      app.notices.info('scenario_opened', () => app.text.t('notice.scenario_opened', { name }));
      return;
    }
    case 'curve': {
      const { scenario } = await (await reader()).call('curve', { file, scenario: app.store.values.value });
      app.editor.replace(scenario, 'file');
      app.notices.info('curve_opened', () => app.text.t('notice.curve_opened', { name }));
      return;
    }
    case 'result':
      measuredFiles.set([...files]);
      app.show('validation');
      return;
    case 'model_config': {
      const { takeModelFile } = await part(() => import('./own-model.js'));
      await takeModelFile(app, file, files.find((one) => one !== file && isQuantization(one)));
      return;
    }
    case 'lengths': {
      const { scenario, taken, pairs } = await (await reader()).call('lengths', { file, scenario: app.store.values.value });
      // Requests of a file have lengths of their own.
      if (app.traceFile.info.value !== null) await app.traceFile.clear();
      app.editor.replace(scenario, 'file');
      app.notices.info('lengths_taken', () => app.text.t('notice.lengths_taken', { name, taken, pairs }));
      return;
    }
    case 'launch_line':
    case 'adapter_config': {
      const { scenario, told } = found;
      const { modelDiagnostic } = await part(() => import('./own-model.js'));
      const words = (): string => app.text.diagnostics(told, (one) => modelDiagnostic(app, one));
      if (told.some(({ severity }) => severity === 'error') || scenario === null) {
        app.notices.error(`scenario_failed ${codesOf(told)}`, () => app.text.t('notice.scenario_failed', { name, message: words() }));
        return;
      }
      app.editor.replace(scenario, 'file');
      const text = found.kind === 'launch_line' ? launchText : adapterText;
      app.notices.info(found.kind, () => sentences(app, [text(app, name, found), words()]));
      return;
    }
    case 'link':
      app.editor.replace(parseLink((await file.text()).trim()).scenario, 'file');
      app.notices.info('scenario_opened', () => app.text.t('notice.scenario_opened', { name }));
      return;
    case 'operator_table':
    case 'clients':
    case 'summary': {
      const key = `notice.file_${found.kind}` as const;
      app.notices.info(`file_${found.kind}`, () => app.text.t(key, { name, keys: found.keys.join(', '), command: found.command }));
      return;
    }
    // A reader of requests says best what a file lacks that is empty or no text.
    case 'trace':
    case 'table':
    case 'binary':
    case 'empty':
      await app.traceFile.load(file);
      return;
    default:
      // The keys of JSON Lines can be named as the columns of a table can.
      if (found.kind === 'json' && /\.jsonl(\.gz)?$/iu.test(name)) await app.traceFile.load(file);
      else app.notices.error('file_unknown', () => app.text.t('notice.file_unknown', { name, keys: found.keys.length === 0 ? '–' : found.keys.join(', ') }));
  }
}

/** What a line that launches a server sets, by the names of the controls. */
function launchText(app: App, name: string, { detail, set, assumed, scenario, unknown_flags: unknown }: RecognisedFile): string {
  const { text, parameters } = app;
  const labels = set.map((path) => {
    const parameter = parameters.get(path);
    return parameter === undefined ? '' : text.label(parameter);
  }).filter((label) => label !== '');
  const others = settingsWords(app, assumed, scenario);
  return sentences(app, [
    text.t('notice.launch_line', { name, server: detail }),
    // First, since a long notice is cut off.
    others.length === 0 ? '' : text.t('notice.launch_assumed', { settings: text.list(others) }),
    labels.length === 0 ? '' : text.t('notice.launch_sets', { settings: text.list(labels) }),
    unknown.length === 0 ? '' : text.t('notice.launch_flags', { flags: unknown.join(', ') }),
  ]);
}

function adapterText(app: App, name: string, { set, scenario }: RecognisedFile): string {
  return app.text.t('notice.adapter_taken', { name, settings: app.text.list(settingsWords(app, set, scenario)) });
}

/** Settings of a scenario with their values, in the words of their controls. */
export function settingsWords({ text, parameters }: App, paths: readonly string[], scenario: ScenarioPatch | null): string[] {
  return paths.flatMap((path) => {
    const parameter = parameters.get(path);
    const value = scenario?.[path] ?? parameter?.default;
    return parameter === undefined || value === undefined ? [] : [`${text.label(parameter)} ${text.value(parameter, value)}`];
  });
}

function sentences({ text }: App, all: readonly string[]): string {
  return all.filter((sentence) => sentence !== '').join(text.language === 'zh' ? '' : ' ');
}
