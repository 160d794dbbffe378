// What can be searched for, in the language of the page, and the way to each.
import type { App } from '../app/app.js';
import { EN, NAMES, ZH } from '../generated/glossary.js';
import { reveal, revealChart, revealSection } from '../ui/reveal.js';
import type { Parameter } from '../simulation/types.js';
import { lessons, wantLessons } from '../state/lessons.js';
import { presetWords } from '../state/presets.js';
import type { Entry } from './find.js';
import { part } from '../lib/part.js';
import { DOCS, LESSON_WORDS, LIMITS, PARAMETER_WORDS, PRESET_WORDS, SECTIONS } from './topics.js';

/**
 * What is left out, sections, parameters, the charts that are on the page now, lessons, presets, the rows of the glossary, and the
 * pages of the documentation.
 */
export function entriesOf(app: App): Entry[] {
  return [...limits(app), ...sections(app), ...parameters(app), ...charts(), ...lessonEntries(app), ...presets(app), ...terms(app), ...docs(app)];
}

/** Fetches the list of lessons, whose entries then are there; without it the rest is found. */
export async function wantEntries(): Promise<void> {
  await wantLessons().catch((thrown: unknown) => { console.warn('lessons:', thrown); });
}

export function goTo(app: App, { kind, id }: Entry): void {
  switch (kind) {
    case 'parameter': {
      const parameter = app.parameters.get(id);
      if (parameter !== undefined) reveal(app, parameter);
      break;
    }
    case 'chart': revealChart(app, id); break;
    case 'preset': {
      const preset = app.presets.find((one) => one.id === id);
      if (preset !== undefined) app.take(preset);
      break;
    }
    case 'section': {
      const section = SECTIONS.find((one) => one.id === id);
      if (section !== undefined) revealSection(app, section);
      break;
    }
    case 'lesson': app.learn({ id, screen: 1 }); break;
    case 'limit': location.assign(docsAddress('limits')); break;
    case 'docs': location.assign(docsAddress(id)); break;
    case 'term': void part(() => import('../help/help-dialog.js')).then(({ showHelp }) => showHelp(app, id)); break;
  }
}

function docsAddress(page: string): string {
  return new URL(`./docs/${page}.html`, document.baseURI).href;
}

function limits({ text: { language } }: App): Entry[] {
  return LIMITS.map(({ id, title, instead, words }): Entry => ({ kind: 'limit', id, label: title[language], about: instead[language], also: words }));
}

function sections({ text }: App): Entry[] {
  return SECTIONS.map(({ id, title, words }): Entry => ({ kind: 'section', id, label: text.t(title), about: '', also: words }));
}

function lessonEntries({ text: { language } }: App): Entry[] {
  return lessons.value.map(({ id, title, about }): Entry => ({ kind: 'lesson', id, label: title[language], about: about[language], also: [...Object.values(title), LESSON_WORDS[id] ?? ''].join(', ') }));
}

function docs({ text: { language } }: App): Entry[] {
  return DOCS.map(({ page, title, words }): Entry => ({ kind: 'docs', id: page, label: title[language], about: '', also: words }));
}

function parameters(app: App): Entry[] {
  const { text } = app;
  return app.schema.parameters.map((parameter): Entry => ({
    kind: 'parameter', id: parameter.id, label: text.label(parameter), about: text.help(parameter), also: optionsOf(app, parameter),
  }));
}

function optionsOf({ text }: App, parameter: Parameter): string {
  return [parameter.key, ...parameter.options.map((option) => text.choice(parameter, option)), PARAMETER_WORDS[parameter.id] ?? ''].join(', ');
}

function charts(): Entry[] {
  return [...document.querySelectorAll<HTMLElement>('chart-view[data-chart]')].map((chart): Entry => {
    const id = chart.dataset['chart'] ?? '';
    const words = (part: string): string => chart.querySelector(part)?.textContent.trim() ?? '';
    return { kind: 'chart', id, label: words('h3'), about: words('.about'), also: words('.legend') };
  });
}

function presets(app: App): Entry[] {
  return app.presets.map((preset): Entry => {
    const { title, about } = presetWords(app.text, preset);
    const words = PRESET_WORDS[preset.id] ?? '';
    return { kind: 'preset', id: preset.id, label: title, about, also: words, names: words.split(', ') };
  });
}

function terms({ text }: App): Entry[] {
  const rows = text.language === 'zh' ? ZH : EN;
  return rows.map(([word, about], index): Entry => {
    const term = EN[index]?.[0] ?? '';
    return { kind: 'term', id: term, label: word, about, also: [term, ...(NAMES[index] ?? [])].join(', ') };
  });
}
