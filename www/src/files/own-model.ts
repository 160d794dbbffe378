// A model of one's own: the dimensions in a config.json of Hugging Face become settings. The studio's thread reads it.
import type { App } from '../app/app.js';
import type { DiagnosticCode } from '../generated/parameters.js';
import type { Area } from '../i18n/area.js';
import { ownModel } from '../i18n/en/own_model.js';
import type { Diagnostic, OwnModel } from '../simulation/types.js';
import { Refusal } from '../simulation/worker-link.js';
import { Topic } from '../lib/topic.js';

/** The file that was read last, what should be known about it, and the model that it gave: one’s own, or one of the list. */
export const readModel = new Topic<{ name: string; notes: OwnModel['notes']; model: string } | null>(null);

/** Every diagnostic of a config.json has words in this area, which a page that reads none does without. */
const WORDS: Area<Record<Extract<DiagnosticCode, `config_${string}`>, string>> = ownModel;

export function modelDiagnostic(app: App, error: Diagnostic): string {
  const template = app.text.find(WORDS, error.code);
  return template === undefined ? app.named(error) : app.text.fill(template, error.params);
}

/** Longest config.json that is read, bytes; one has some thousands, one that lists the format of every module some millions. */
const MOST_BYTES = 8 * 1_048_576;

/** A longer file is not even read. Older checkpoints of NVIDIA have the format of their weights in a file of its own. */
export async function takeModelFile(app: App, file: File, quantization?: File): Promise<void> {
  const tooLong = [file, quantization].find((one) => one !== undefined && one.size > MOST_BYTES);
  if (tooLong === undefined) await takeModel(app, file.name, await file.text(), (await quantization?.text()) ?? null);
  else app.notices.error('model_failed', () => app.text.fill(app.text.find(WORDS, 'config_too_long') ?? '', { file: tooLong.name, value: tooLong.size, max: MOST_BYTES }));
}

/** The settings stay as they are where the text is bad; the notices say what is wrong with it. */
export async function takeModel(app: App, name: string, text: string, quantization: string | null = null): Promise<void> {
  try {
    const studio = await app.traceFile.studio();
    const { scenario, notes } = await studio.call('model_config', { name, text, quantization, scenario: app.store.values.value });
    app.editor.replace(scenario, 'file');
    app.notices.dismissErrors();
    readModel.set({ name, notes, model: String(app.store.resolved.values['fleet.model']) });
  } catch (thrown) {
    if (!(thrown instanceof Refusal)) throw thrown;
    app.notices.error('model_failed', () => app.text.diagnostics(thrown.errors, (error) => modelDiagnostic(app, error)));
  }
}
