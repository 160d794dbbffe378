// What can be searched for, in the language of the page, and the way to each.
import type { App } from '../app.js';
import { EN, NAMES, ZH } from '../generated/glossary.js';
import { reveal, revealChart } from '../panels/reveal.js';
import type { Parameter } from '../simulation/types.js';
import { presetWords } from '../state/presets.js';
import type { Entry } from './find.js';
import { part } from '../part.js';

/** Parameters, the charts that are on the page now, presets, and the rows of the glossary. */
export function entriesOf(app: App): Entry[] {
  return [...parameters(app), ...charts(), ...presets(app), ...terms(app)];
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
    case 'term': void part(() => import('../panels/help-dialog.js')).then(({ showHelp }) => showHelp(app, id)); break;
  }
}

function parameters(app: App): Entry[] {
  const { text } = app;
  return app.schema.parameters.map((parameter): Entry => ({
    kind: 'parameter', id: parameter.id, label: text.label(parameter), about: text.help(parameter), also: optionsOf(app, parameter),
  }));
}

function optionsOf({ text }: App, parameter: Parameter): string {
  return [parameter.key, ...parameter.options.map((option) => text.choice(parameter, option))].join(', ');
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
    return { kind: 'preset', id: preset.id, label: title, about, also: '' };
  });
}

function terms({ text }: App): Entry[] {
  const rows = text.language === 'zh' ? ZH : EN;
  return rows.map(([word, about], index): Entry => {
    const term = EN[index]?.[0] ?? '';
    return { kind: 'term', id: term, label: word, about, also: [term, ...(NAMES[index] ?? [])].join(', ') };
  });
}
