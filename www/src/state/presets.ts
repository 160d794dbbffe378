// Ready-made scenarios: files under presets/, each an id and a scenario in the nested form of a scenario file. Some are
// stories: they bring their words, and the few parameters by which the same run without a policy differs.
import type { Text } from '../i18n/text.js';
import { pageError, type Diagnostic, type ScenarioPatch, type SplitBy } from '../simulation/types.js';
import { due } from '../lib/due.js';
import type { Language } from '../i18n/format.js';
import { sameValues, type Values } from '../simulation/values.js';

export interface Story {
  without: unknown;
  words: Record<Language, Record<'title' | 'about' | 'with' | 'without' | 'text', string>>;
  /** Users whose numbers are compared. */
  clients: readonly ({ user: number } & Record<Language, string>)[];
  /** Rows of its table, in this order; the usual ones where it names none. */
  rows?: readonly string[];
  /** The charts that show it, of both runs, already split and zoomed. */
  view?: StoryView;
}

export interface StoryView { by: SplitBy; zoom: [number, number]; charts: readonly string[] }

export const PRESET_GROUPS = ['first_steps', 'will_it', 'slora', 'fleets', 'fairness'] as const;
export type PresetGroup = (typeof PRESET_GROUPS)[number];

export interface Preset { id: string; group: PresetGroup; values: Values; story?: Story | undefined }

export interface PresetFile { id: string; group: PresetGroup; scenario: unknown; story?: Story | undefined }

const FOLDER = '../../../static/presets/';
/** In one script: a file each would be as many requests before the first answer. */
const FILES = import.meta.glob('../../../static/presets/*.json', { eager: true, import: 'default' });

/** In the order of their list. */
export function presetFiles(): PresetFile[] {
  const ids = FILES[`${FOLDER}index.json`] as string[];
  return ids.map((id) => {
    const file = FILES[`${FOLDER}${id}.json`] as { scenario?: unknown; group?: unknown } | Story;
    const scenario = 'scenario' in file ? file.scenario : {};
    const named = 'group' in file ? file.group : null;
    const group = PRESET_GROUPS.find((known) => known === named) ?? 'first_steps';
    return { id, group, scenario, story: 'without' in file ? file : undefined };
  });
}

export function presetsOf(files: readonly PresetFile[], fromJson: (text: string) => ScenarioPatch): Preset[] {
  return files.map(({ id, group, scenario, story }) => ({ id, group, values: fromJson(JSON.stringify(scenario)), story }));
}

/** A file that is served beside the page. */
export function fetchJson(path: string): Promise<unknown> {
  return due.during('fetch', async () => {
    const response = await fetch(new URL(path, document.baseURI));
    if (!response.ok) throw new Error(`${path}: HTTP ${String(response.status)}`);
    return await response.json() as unknown;
  });
}

export function presetWords(text: Text, { id, story }: Preset): { title: string; about: string } {
  return story?.words[text.language] ?? { title: text.named('preset.', id), about: text.named('preset.', `${id}.about`) };
}

/**
 * A link such as `#preset=mm1` or `#preset=mm1&R=2` with the settings of the preset that it names, its own before them. The page's
 * own links say `v=`: they hold every setting, and the name is that of the preset from which it was changed.
 */
export function withPreset(hash: string, presets: readonly Preset[], encode: (values: Values) => string): string {
  const given = new URLSearchParams(hash.replace(/^#/, ''));
  const preset = presets.find(({ id }) => id === presetAsked(given));
  if (preset === undefined) return hash;
  const more = encode(preset.values).split('&').filter((pair) => !given.has(pair.slice(0, pair.indexOf('='))));
  return [hash, ...more].join('&');
}

/** How many characters of such a name are shown. */
const MOST_SHOWN = 40;

/** What is reported of a link that names a preset which the page does not have: that part is ignored. */
export function unknownPreset(hash: string, presets: readonly Preset[]): Diagnostic[] {
  const asked = presetAsked(new URLSearchParams(hash.replace(/^#/, '')));
  return asked === null || presets.some(({ id }) => id === asked) ? [] : [pageError('bad_link', `There is no preset ${asked}.`, '', { part: `preset=${asked.slice(0, MOST_SHOWN)}` })];
}

function presetAsked(given: URLSearchParams): string | null {
  return given.has('v') ? null : given.get('preset');
}

/** The preset that `values` are, to the letter. */
export function presetOf(presets: readonly Preset[], values: Values): Preset | undefined {
  return presets.find((preset) => sameValues(preset.values, values));
}
