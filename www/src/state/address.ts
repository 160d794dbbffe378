// The page's address holds the scenario and the page's own keys; copying it is sharing it. Writing is debounced
// and replaces the entry: changes are taken back by undo. A visit to another tab or preset is an entry of its own, to which
// the Back button leads.
import type { Diagnostic, ScenarioPatch } from '../simulation/types.js';
import { DueNow } from '../lib/due.js';
import type { Pipe } from './traffic.js';

export interface PageKeys { lang: string | null; /** The preset that a changed setting started from. */ preset: string | null; zoom: [number, number] | null; by: string | null; file: string | null; tab: string | null; pipe: Pipe | null; pins: readonly Pin[]; /** What is compared beside the usual numbers. */ metrics: readonly string[]; sweep: Sweep | null; crossover: Crossover | null; /** The step of the run at which the scheduler debugger stands; null: it is closed. */ step: number | null; embed: Embed | null }

/** A setting that is kept to be compared with over this many seeds, as the part of an address behind "#". */
export interface Pin { name: string; seeds: number; link: string }

/** What is swept, and of which setting (the part of an address behind "#"): `over` and `metrics` as the terminal's `sweep` takes them. */
export interface Sweep { seeds: number; metrics: readonly string[]; link: string; over: readonly string[] }

/** Where the better of a comparison changes: `over` as the terminal's `compare --crossover` takes it. */
export interface Crossover { over: string; metric: string }

/** One chart and a few controls, for a frame in another page; or, in place of a chart, the screen of a lesson at which the page is. */
export interface Embed { chart: string; controls: readonly string[] }

export interface Codec {
  encode(values: ScenarioPatch): string;
  parse(hash: string): { scenario: ScenarioPatch; problems: Diagnostic[] };
}

export const EMBEDDED_LESSON = 'lesson';

const DEBOUNCE_MS = 300;
/** Most settings that are kept. */
export const MOST_PINS = 8;
/** Most numbers that are compared beside the usual ones. */
const MOST_METRICS = 50;

export function pageKeys(hash: string): PageKeys {
  const keys = new URLSearchParams(hash.replace(/^#/, ''));
  return { lang: keys.get('lang'), preset: keys.get('preset'), zoom: parseZoom(keys.get('zoom')), by: keys.get('by'), file: keys.get('file'), tab: keys.get('tab'), pipe: parsePipe(keys.get('pipe')), pins: keys.getAll('pin').flatMap(parsePin).slice(0, MOST_PINS), metrics: parseMetrics(keys.get('metrics')), sweep: parseSweep(keys.get('sweep')), crossover: parseCrossover(keys.get('turn')), step: parseStep(keys.get('step')), embed: parseEmbed(keys.get('embed')) };
}

/** Whether an address has settings, or the name of a preset, which is known before the module that reads them. */
export function namesScenario(hash: string): boolean {
  const keys = new URLSearchParams(hash.replace(/^#/, ''));
  return keys.has('v') || keys.has('preset');
}

export function withPageKeys(link: string, keys: PageKeys): string {
  const parts = [link];
  if (keys.lang !== null) parts.push(`lang=${encodeURIComponent(keys.lang)}`);
  if (keys.zoom !== null) parts.push(`zoom=${keys.zoom.map((second) => String(Number(second.toPrecision(6)))).join('-')}`);
  if (keys.by !== null) parts.push(`by=${encodeURIComponent(keys.by)}`);
  if (keys.file !== null) parts.push(`file=${encodeURIComponent(keys.file)}`);
  if (keys.pipe !== null && keys.pipe.steps.length > 0) parts.push(`pipe=${[keys.pipe.join, ...keys.pipe.steps].map(encodeURIComponent).join(';')}`);
  if (keys.tab !== null) parts.push(`tab=${encodeURIComponent(keys.tab)}`);
  if (keys.preset !== null) parts.push(`preset=${encodeURIComponent(keys.preset)}`);
  for (const { name, seeds, link: pinned } of keys.pins) parts.push(`pin=${[name, seeds, pinned].map(encodeURIComponent).join(';')}`);
  if (keys.metrics.length > 0) parts.push(`metrics=${keys.metrics.map(encodeURIComponent).join()}`);
  if (keys.sweep !== null) parts.push(`sweep=${encodeURIComponent(sweepText(keys.sweep))}`);
  if (keys.crossover !== null) parts.push(`turn=${encodeURIComponent(`${keys.crossover.metric}|${keys.crossover.over}`)}`);
  if (keys.step !== null) parts.push(`step=${String(keys.step)}`);
  if (keys.embed !== null) parts.push(`embed=${[keys.embed.chart, ...keys.embed.controls].map(encodeURIComponent).join(';')}`);
  return `#${parts.join('&')}`;
}

/** None of its parts has a bar: texts in links have it percent-encoded. */
export function sweepText({ seeds, metrics, link, over }: Sweep): string {
  return [seeds, metrics.join(), link, ...over].join('|');
}

function parseSweep(text: string | null): Sweep | null {
  const [seeds = '', metrics = '', link = '', ...over] = (text ?? '').split('|');
  return /^\d{1,5}$/.test(seeds) && over.length > 0 ? { seeds: Number(seeds), metrics: metrics.split(','), link, over } : null;
}

function parseMetrics(text: string | null): string[] {
  return [...new Set((text ?? '').split(',').filter((metric) => metric !== ''))].slice(0, MOST_METRICS);
}

function parseCrossover(text: string | null): Crossover | null {
  const [, metric, over] = /^([^|=]+)\|([^|=]+=[^|=]+)$/.exec(text ?? '') ?? [];
  return metric === undefined || over === undefined ? null : { over, metric };
}

function parseStep(text: string | null): number | null {
  return /^\d{1,9}$/.test(text ?? '') ? Number(text) : null;
}

function parseEmbed(text: string | null): Embed | null {
  const [chart, ...controls] = (text ?? '').split(';');
  return chart === undefined || chart === '' ? null : { chart, controls };
}

function parsePin(text: string): Pin[] {
  const [, name, seeds, link] = /^([^;]*);(\d{1,3});(.*)$/.exec(text) ?? [];
  return name === undefined || seeds === undefined || link === undefined ? [] : [{ name, seeds: Number(seeds), link }];
}

function parsePipe(text: string | null): Pipe | null {
  const [join, ...steps] = (text ?? '').split(';');
  return join === undefined || steps.length === 0 ? null : { join, steps };
}

function parseZoom(text: string | null): [number, number] | null {
  const match = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text ?? '');
  if (match === null) return null;
  const [from, to] = [Number(match[1]), Number(match[2])];
  return from < to ? [from, to] : null;
}

export class Address {
  #timer: ReturnType<typeof setTimeout> | null = null;
  #written = location.hash;
  readonly #writing = new DueNow('address');
  readonly #following = new DueNow('link');

  constructor(
    private readonly codec: Codec,
    private readonly current: () => { values: ScenarioPatch; keys: PageKeys },
    onForeignChange: () => void,
  ) {
    // The browser tells of a link that was followed in a task of its own.
    addEventListener('click', (event) => { if (followsLink(event)) this.#following.set(true); });
    addEventListener('hashchange', () => {
      this.#following.set(false);
      if (location.hash === this.#written) return;
      this.#written = location.hash;
      this.#cancel();
      onForeignChange();
    });
    // A reload or a closed tab within the pause must not lose the last change.
    addEventListener('pagehide', () => { if (this.#timer !== null) this.write(); });
  }

  read(): { scenario: ScenarioPatch; problems: Diagnostic[]; keys: PageKeys } {
    return { ...this.codec.parse(location.hash), keys: pageKeys(location.hash) };
  }

  /** The whole link as it is now, without waiting for the pause. */
  link(): string {
    return new URL(this.#hash(), location.href).href;
  }

  /** The same link with other keys of the page. */
  linkWith(changed: Partial<PageKeys>): string {
    const { values, keys } = this.current();
    return new URL(withPageKeys(this.codec.encode(values), { ...keys, ...changed }), location.href).href;
  }

  schedule(): void {
    this.#cancel();
    this.#timer = setTimeout(() => { this.write(); }, DEBOUNCE_MS);
    this.#writing.set(true);
  }

  /** Not while Back or Forward is under way: its entry of the history is there before its event is heard. */
  write(): void {
    this.#cancel();
    if (location.hash !== this.#written) return;
    history.replaceState(null, '', this.#hash());
    this.#written = location.hash;
  }

  /** Makes a change from which the Back button leads back. */
  visit(change: () => void): void {
    this.write();
    change();
    const next = this.#hash();
    this.#cancel();
    if (next === this.#written) return;
    history.pushState(null, '', next);
    this.#written = location.hash;
  }

  #hash(): string {
    const { values, keys } = this.current();
    return withPageKeys(this.codec.encode(values), keys);
  }

  #cancel(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#writing.set(false);
  }
}

/** Whether a click leads to another address of this page, in this tab. */
function followsLink({ target, defaultPrevented, button, ctrlKey, metaKey, shiftKey, altKey }: MouseEvent): boolean {
  if (defaultPrevented || button !== 0 || ctrlKey || metaKey || shiftKey || altKey || !(target instanceof Element)) return false;
  const link = target.closest<HTMLAnchorElement>('a[href^="#"]');
  return link !== null && link.target === '' && link.hash !== location.hash;
}
