// What belongs to the reader and not to the scenario: language and theme. The address wins, then what was stored, then
// what the browser says.
import type { Language } from '../i18n/format.js';
import { Topic } from '../lib/topic.js';

export type Theme = 'auto' | 'light' | 'dark';
/** `seeds`: further seeds run after an answer, for the ranges of the headline numbers. */
export interface Settings { language: Language; theme: Theme; dark: boolean; seeds: boolean }

const THEMES: readonly Theme[] = ['auto', 'light', 'dark'];
const systemDark = matchMedia('(prefers-color-scheme: dark)');

export function stored(key: string): string | null {
  // Storage may be forbidden; the page works without it.
  try { return localStorage.getItem(`servescope.${key}`); } catch { return null; }
}

export function store(key: string, value: string): void {
  try { localStorage.setItem(`servescope.${key}`, value); } catch { return; }
}

export function asLanguage(text: string | null | undefined): Language | null {
  if (text === null || text === undefined) return null;
  if (text.toLowerCase().startsWith('zh')) return 'zh';
  return text.toLowerCase().startsWith('en') ? 'en' : null;
}

function isDark(theme: Theme): boolean {
  return theme === 'dark' || (theme === 'auto' && systemDark.matches);
}

/** As it was chosen; otherwise not where the browser is asked to save data. */
function hasSeeds(): boolean {
  const chosen = stored('seeds');
  if (chosen !== null) return chosen === 'on';
  return (navigator as Navigator & { connection?: { saveData?: boolean } }).connection?.saveData !== true;
}

export function initialSettings(addressLanguage: string | null): Topic<Settings> {
  const language = asLanguage(addressLanguage) ?? asLanguage(stored('language')) ?? asLanguage(navigator.language) ?? 'en';
  const theme = THEMES.find((known) => known === stored('theme')) ?? 'auto';
  const settings = new Topic<Settings>({ language, theme, dark: isDark(theme), seeds: hasSeeds() });
  systemDark.addEventListener('change', () => { settings.update({ dark: isDark(settings.value.theme) }); });
  return settings;
}

/** Whether the first screen still says what the page is. */
export function isWelcome(): boolean {
  return stored('welcome') !== 'closed';
}

export function setWelcome(open: boolean): void {
  store('welcome', open ? 'open' : 'closed');
}

export function setLanguage(settings: Topic<Settings>, language: Language): void {
  store('language', language);
  settings.update({ language });
}

export function setSeeds(settings: Topic<Settings>, seeds: boolean): void {
  store('seeds', seeds ? 'on' : 'off');
  settings.update({ seeds });
}

export function nextTheme(settings: Topic<Settings>): void {
  const theme = THEMES[(THEMES.indexOf(settings.value.theme) + 1) % THEMES.length] ?? 'auto';
  store('theme', theme);
  settings.update({ theme, dark: isDark(theme) });
}
