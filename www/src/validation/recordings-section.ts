// VTC's recordings: their arrivals are the authors', so the answers were computed in a terminal and are shown as they are.
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import '../draw/chart-view.js';
import { LightElement } from '../app/element.js';
import type { Watchable } from '../lib/topic.js';
import type { FiguresState } from './figures-state.js';
import { errorText, signedError } from '../measured-run/errors.js';
import { rpmLimit, type Recordings, type Run } from './recordings.js';
import { validation } from '../i18n/en/validation.js';

export class RecordingsSection extends LightElement {
  static override properties = { ...LightElement.properties, published: { attribute: false } };
  declare published: FiguresState;

  protected override watched(): Watchable[] {
    return [this.published.recordings, this.published.run];
  }

  protected override render(): TemplateResult | typeof nothing {
    const recordings = this.published.recordings.value;
    if (recordings === null) return nothing;
    const say = this.app.text.say(validation);
    const { runs } = recordings;
    return html`
      <section aria-labelledby="published-rpm"><h2 id="published-rpm">${say('rpm')}</h2>
        <p class="about">${say('rpm.about')}</p>
        <div class="published-grid wide">
          ${this.#chart('checked_rpm_rejected', this.#rpmErrors(recordings, ({ rejected }) => rejected, recordings.bounds.rejected))}
          ${this.#chart('checked_rpm_throughput', this.#rpmErrors(recordings, ({ tokens_per_s }) => tokens_per_s, recordings.bounds.tokens))}
        </div>
      </section>
      <section aria-labelledby="published-vtc"><h2 id="published-vtc">${say('vtc')}</h2>
        <p class="published-note">${say('vtc.about')}</p>
        <p class="published-source">${say('vtc.command')}: <code>${recordings.command}</code>. ${recordings.source}. <a href="published/vtc.json" download>${say('vtc.file')}</a></p>
        ${this.#run()}
        <div class="who-scroll" tabindex="0" role="region" aria-labelledby="published-runs">
          <table class="who published">
            <caption id="published-runs">${this.#caption(runs)}</caption>
            <thead><tr><th scope="col">${say('run.scheduler')}</th><th scope="col" class="text">${say('run.workload')}</th><th scope="col">${say('run.tokens')}</th>
              <th scope="col">${say('run.error')}</th><th scope="col">${say('run.rejected')}</th><th scope="col">${say('run.ordered')}</th>
              <th scope="col">${say('run.gap')}</th><th scope="col">${say('run.bound')}</th><th scope="col">${say('run.of_fcfs')}</th>
              <th scope="col" class="text">${say('run.verdict')}</th><td></td></tr></thead>
            <tbody>${repeat(runs, ({ scheduler, workload }) => `${scheduler} ${workload}`, (run) => this.#row(run, recordings))}</tbody>
          </table>
        </div>
      </section>`;
  }

  #chart(name: string, note: TemplateResult | string): TemplateResult {
    const { app, published } = this;
    return html`<div class="published-cell"><chart-view .app=${app} .name=${name} .feed=${published.feed}></chart-view>
      <div class="published-errors">${note}</div></div>`;
  }

  #rpmErrors({ runs }: Recordings, value: (measured: Run['ours']) => number, bound: number): TemplateResult {
    const errors = runs.filter((run) => rpmLimit(run) !== null).map(({ ours, recorded }) => Math.abs(value(ours) / value(recorded) - 1));
    const { format } = this.app.text;
    const say = this.app.text.say(validation);
    const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length;
    const within = errors.filter((error) => error <= bound).length;
    const counted = say('errors.within', { within, points: errors.length, bound: format.share(bound) });
    return html`<p>${say('errors', { who: say('errors.stored'), mean: errorText(format, mean), max: errorText(format, Math.max(...errors)) })} ${counted}</p>`;
  }

  /** The run that is looked at, client by client. */
  #run(): TemplateResult | typeof nothing {
    const run = this.published.run.value;
    if (run === null) return nothing;
    const { format } = this.app.text;
    const say = this.app.text.say(validation);
    const [right, all] = run.ordered;
    const { gap_bound, ours, recorded, fcfs_gap } = run;
    const gap = say('run.gap_note', { ours: format.short(ours.service_gap), theirs: format.short(recorded.service_gap), share: errorText(format, ours.service_gap / fcfs_gap) });
    return html`
      <h3 class="published-run" data-digest=${run.digest}>${run.scheduler}, ${run.workload} <small>${say('run.title', { requests: format.whole(run.requests), gpu: run.gpu, pool: format.whole(run.pool_tokens), digest: run.digest })}</small></h3>
      <div class="published-grid wide">
        ${this.#chart('checked_run_first_token', html`<p>${all === 0 ? say('run.alike') : say('run.order_note', { right, all })}</p>`)}
        ${this.#chart('checked_run_tokens', html`<p>${say('run.tokens_note', { ours: format.short(ours.tokens_per_s), theirs: format.short(recorded.tokens_per_s), error: this.#signed(run) })}</p>`)}
        ${this.#chart('checked_run_gap', html`<p>${gap} ${gap_bound === null ? say('run.no_bound') : say('run.bound_note', { bound: format.whole(gap_bound) })}</p>`)}
      </div>`;
  }

  #caption(runs: readonly Run[]): string {
    const counted = runs.filter(({ settles, beyond }) => !settles && beyond === null);
    return this.app.text.say(validation)('run.caption', { all: runs.length, predicted: counted.length, within: counted.filter(({ within }) => within).length });
  }

  #row(run: Run, { bounds }: Recordings): TemplateResult {
    const { app, published } = this;
    const { format } = app.text;
    const say = app.text.say(validation);
    const { ours, recorded, ordered, gap_bound } = run;
    const picked = run === published.run.value;
    const off = Math.abs(ours.tokens_per_s / recorded.tokens_per_s - 1) > bounds.tokens;
    return html`
      <tr aria-current=${picked ? 'true' : 'false'} data-run="${run.scheduler} ${run.workload}" data-tokens=${ours.tokens_per_s}>
        <th scope="row"><button type="button" class="quiet" aria-pressed=${picked} title=${say('run.show')} @click=${() => { published.run.set(run); }}>${run.scheduler}</button></th>
        <td class="text">${run.workload}</td>
        <td>${format.whole(ours.tokens_per_s)} / ${format.whole(recorded.tokens_per_s)}</td>
        <td class=${off ? 'off' : ''}>${this.#signed(run)}</td>
        <td>${format.whole(ours.rejected)} / ${format.whole(recorded.rejected)}</td>
        <td>${ordered[1] === 0 ? '–' : `${format.whole(ordered[0])} / ${format.whole(ordered[1])}`}</td>
        <td>${format.whole(ours.service_gap)} / ${format.whole(recorded.service_gap)}</td>
        <td>${gap_bound === null ? '–' : format.whole(gap_bound)}</td>
        <td>${errorText(format, ours.service_gap / run.fcfs_gap)}</td>
        <td class="text">${this.#verdict(run)}</td>
        <td>${run.link === null ? nothing : html`<a href="#${run.link}" title=${say('run.open')}>${say('open')}<span class="visually-hidden"> ${run.scheduler} ${run.workload}</span></a>`}</td>
      </tr>`;
  }

  #signed({ ours, recorded }: Run): string {
    return signedError(this.app.text.format, ours.tokens_per_s / recorded.tokens_per_s - 1);
  }

  #verdict({ settles, beyond, within }: Run): string {
    const say = this.app.text.say(validation);
    if (beyond !== null) return say('run.beyond', beyond);
    if (settles) return say('run.settles');
    return say(within ? 'run.within' : 'run.off');
  }
}

customElements.define('recordings-section', RecordingsSection);
