// Ready-made scenarios: files under presets/, each an id and a scenario in the nested form of a scenario file.
import type { ScenarioPatch } from '../engine/types.js';
import { sameValues, type Values } from './store.js';

export interface Preset { id: string; values: Values }

export interface PresetFile { id: string; scenario: unknown }

export async function fetchPresets(): Promise<PresetFile[]> {
  const ids: unknown = await fetchJson('presets/index.json');
  if (!Array.isArray(ids)) throw new Error('presets/index.json is not a list');
  return Promise.all(ids.map(async (id: unknown) => {
    const file = await fetchJson(`presets/${String(id)}.json`);
    const scenario: unknown = typeof file === 'object' && file !== null && 'scenario' in file ? file.scenario : {};
    return { id: String(id), scenario };
  }));
}

export function presetsOf(files: readonly PresetFile[], fromJson: (text: string) => ScenarioPatch): Preset[] {
  return files.map(({ id, scenario }) => ({ id, values: fromJson(JSON.stringify(scenario)) }));
}

async function fetchJson(path: string): Promise<unknown> {
  const response = await fetch(new URL(path, document.baseURI));
  if (!response.ok) throw new Error(`${path}: HTTP ${String(response.status)}`);
  return response.json();
}

/** The preset that `values` are, to the letter. */
export function presetOf(presets: readonly Preset[], values: Values): Preset | undefined {
  return presets.find((preset) => sameValues(preset.values, values));
}
