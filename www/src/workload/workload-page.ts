// The workload studio: where requests come from, what they look like, how they are changed, fitted and taken along.
import { html, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { LightElement } from '../app/element.js';
import { diagnosticLines } from '../ui/diagnostic-lines.js';
import type { Watchable } from '../lib/topic.js';
import './bodies-section.js';
import './curve-drawing.js';
import './export-section.js';
import './fit-section.js';
import './source-section.js';
import './steps-section.js';
import { WorkloadState } from './workload-state.js';
import { workload } from '../i18n/en/workload.js';

/** On one time axis: what AIBrix's plot of a workload has. */
const OVER_TIME = ['traffic_rate', 'traffic_input_tokens', 'traffic_output_tokens', 'traffic_sessions'] as const;
const CHARTS = ['traffic_gaps', 'traffic_dispersion', 'traffic_users', 'traffic_input', 'traffic_output'] as const;

export function workloadPage(app: App): WorkloadPage {
  return WorkloadPage.of(app, { studio: new WorkloadState(app) });
}

export class WorkloadPage extends LightElement {
  declare studio: WorkloadState;

  protected override watched(): Watchable[] {
    return [this.studio.errors];
  }

  protected override render(): TemplateResult {
    const { app, studio } = this;
    const say = app.text.say(workload);
    const chart = (name: string): TemplateResult => html`<chart-view .app=${app} .name=${name} .feed=${studio.feed}></chart-view>`;
    return html`
      <section aria-labelledby="studio-source"><h2 id="studio-source">${say('source.title')}</h2>
        <source-section .app=${app}></source-section></section>
      <section aria-labelledby="studio-draw"><h2 id="studio-draw">${say('draw.title')}</h2>
        <curve-drawing .app=${app}></curve-drawing></section>
      <section aria-labelledby="studio-steps"><h2 id="studio-steps">${say('steps.title')}</h2>
        <steps-section .app=${app}></steps-section></section>
      <section aria-labelledby="studio-fit"><h2 id="studio-fit">${say('fit.title')}</h2>
        <fit-section .app=${app} .studio=${studio}></fit-section></section>
      <section aria-labelledby="studio-charts"><h2 id="studio-charts">${say('charts.title')}</h2>
        ${diagnosticLines(app, studio.errors.value)}
        <div class="happens"><div class="chart-grid">${OVER_TIME.map(chart)}</div></div>
        <div class="arrives"><div class="chart-grid">${CHARTS.map(chart)}</div></div></section>
      <section aria-labelledby="studio-export"><h2 id="studio-export">${say('export.title')}</h2>
        <export-section .app=${app}></export-section>
        <h3>${say('bodies.title')}</h3>
        <bodies-section .app=${app}></bodies-section></section>`;
  }
}

customElements.define('workload-page', WorkloadPage);
