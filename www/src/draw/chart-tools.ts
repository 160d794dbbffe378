// The small tools in a chart's corner: what it means, its files, its numbers as a table.
import { html, nothing, type TemplateResult } from 'lit';
import { refused } from '../ui/belonging-words.js';
import { menu, menuItem } from '../ui/menu.js';
import { chartCsv, downloadText } from './export-chart.js';
import { part } from '../lib/part.js';
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
        id: `${view.idOf}-menu`, label: '⋯', name: `${title}: ${text.t('chart.more')}`, className: 'quiet plain',
        content: html`
          ${menuItem('table', text.t(view.tableOpen === true ? 'chart.table_hide' : 'chart.table'), () => { view.tableOpen = view.tableOpen !== true; })}
          ${menuItem('figure', text.t('chart.figure'), () => { if (view.chart !== undefined && maySave(view)) void part(() => import('./figure-dialog.js')).then(({ showFigure }) => { showFigure(view, title); }); })}
          ${view.source.of === 'run' ? menuItem('embed', text.t('chart.embed'), () => { void part(() => import('./frame.js')).then(({ copyFrame }) => copyFrame(view, title)); }) : nothing}
          ${menuItem('csv', save('CSV'), () => { if (view.chart !== undefined && maySave(view)) downloadText(`${name}.csv`, chartCsv(view.chart), 'text/csv'); })}`,
      })}
    </div>`;
}

function maySave({ app, source }: ShownChart): boolean {
  return source.of === undefined || !refused(app, source.of);
}
