// The small tools in a chart's corner: what it means, its files, its numbers as a table.
import { html, nothing, type TemplateResult } from 'lit';
import { refused } from '../ui/belonging-words.js';
import { menu, menuItem } from '../ui/menu.js';
import { originLines } from '../ui/run-origin.js';
import { chartCsv, downloadPng, downloadSvg, downloadText } from './export-chart.js';
import { part } from '../lib/part.js';
import type { Picture } from '../studio/picture.js';
import type { ShownChart } from './shown-chart.js';

export function chartTools(view: ShownChart, title: string): TemplateResult {
  const { text } = view.app;
  const name = `servescope-${view.name.replaceAll('_', '-')}`;
  const save = (kind: string): string => `${text.t('chart.download')} ${kind}`;
  return html`
    <div class="chart-tools">
      <button type="button" class="quiet" aria-expanded=${view.aboutOpen === true} aria-controls="${view.idOf}-about"
        aria-label="${title}: ${text.t('chart.what')}" title=${text.t('chart.what')}
        @click=${() => { view.aboutOpen = view.aboutOpen !== true; }}>?</button>
      ${menu({
        label: '⋯', name: `${title}: ${text.t('chart.more')}`, className: 'quiet plain',
        content: html`
          ${menuItem('table', text.t(view.tableOpen === true ? 'chart.table_hide' : 'chart.table'), () => { view.tableOpen = view.tableOpen !== true; })}
          ${menuItem('png', save('PNG'), () => { withPicture(view, (picture) => { void downloadPng(`${name}.png`, picture, origin(view, title)); }); })}
          ${menuItem('svg', save('SVG'), () => { withPicture(view, (picture) => { void downloadSvg(view.app, picture, origin(view, title)); }); })}
          ${view.source.of === 'run' ? menuItem('embed', text.t('chart.embed'), () => { void part(() => import('./frame.js')).then(({ copyFrame }) => copyFrame(view, title)); }) : nothing}
          ${menuItem('csv', save('CSV'), () => { if (view.chart !== undefined && maySave(view)) downloadText(`${name}.csv`, chartCsv(view.chart), 'text/csv'); })}`,
      })}
    </div>`;
}

/** What the picture is of: charts of the service name the run. */
function origin({ app, source }: ShownChart, title: string): string {
  return [title, ...(source.of === 'run' ? originLines(app) : [])].join('\n');
}

function maySave({ app, source }: ShownChart): boolean {
  return source.of === undefined || !refused(app, source.of);
}

function withPicture(view: ShownChart, use: (picture: Picture) => void): void {
  const { drawn: chart, ghost, app } = view;
  if (chart === undefined || !maySave(view)) return;
  const { clientWidth: width, clientHeight: height } = view.place;
  use({ chart, ghost, dark: app.settings.value.dark, width, height, chinese: app.text.language === 'zh' });
}
