// A chart's numbers as a table, thinned to what a person can read.
import { html, nothing, type TemplateResult } from 'lit';
import type { ChartData, Series } from '../simulation/types.js';
import type { Text } from '../i18n/text.js';
import { axisValue, yUnit, yValue } from './read-out.js';

const ROWS = 60;

export function tableView(text: Text, chart: ChartData, roleName: (role: string) => string): TemplateResult {
  const step = Math.max(1, ...chart.series.map((series) => Math.ceil(series.x.length / ROWS)));
  return html`
    <div class="table-view" tabindex="0" role="region" aria-label=${text.t('chart.table')}>
      <table>
        <thead><tr><th scope="col">${text.t('chart.series')}</th><th scope="col">${xHeading(text, chart)}</th><th scope="col">${yUnit(text, chart)}</th></tr></thead>
        <tbody>${chart.series.filter(({ mark }) => mark !== 'band').map((series) => rows(text, chart, series, roleName(series.role), step))}</tbody>
      </table>
      ${step > 1 ? html`<p>${text.t('chart.table_thin', { step })}</p>` : nothing}
    </div>`;
}

function rows(text: Text, chart: ChartData, series: Series, role: string, step: number): TemplateResult[] {
  const made: TemplateResult[] = [];
  for (let index = 0; index < Math.max(series.x.length, series.y.length); index += step) {
    const x = series.mark === 'rule_y' ? undefined : series.x[index];
    const y = series.mark === 'rule_x' ? undefined : series.y[index];
    const base = series.y0[index] ?? 0;
    const height = y === undefined ? undefined : chart.y.kind === 'index' ? Math.round(base) : y - base;
    made.push(html`<tr><th scope="row">${role}</th><td>${x === undefined ? nothing : xText(text, chart, x)}</td>
      <td>${height === undefined ? nothing : yValue(text, chart, series.role, height)}</td></tr>`);
  }
  return made;
}

function xText(text: Text, chart: ChartData, x: number): string {
  return chart.x.kind === 'index' ? text.category(chart, Math.round(x)) : axisValue(text, chart.x, x);
}

function xHeading(text: Text, chart: ChartData): string {
  switch (chart.x.kind) {
    case 'time': return text.t('axis.time');
    case 'index': return text.t(chart.name === 'shares' ? 'axis.adapter' : 'axis.category');
    case 'value': return chart.x.unit === '' ? text.t('axis.value') : text.unit(chart.x.unit);
  }
}
