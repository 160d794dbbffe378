// How far the headline numbers are to be expected from a real server's, from the nearest measured deployments.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app.js';
import type { Summary } from '../simulation/types.js';
import { errorBand } from './error-band.js';

/** Nothing for the linear model, which is of no GPU, and before there is an answer. */
export function expectedError(app: App): TemplateResult | typeof nothing {
  const { text } = app;
  const summary = app.session.value.answer?.summary;
  if (summary === undefined) return nothing;
  const error = summary.expected_error;
  if (error === null) {
    const isProfile = app.store.resolved.values['cost.kind'] === 'profile';
    return isProfile ? html`<p class="headline-details" data-expected="unknown">${text.t('expected.unknown')}</p>` : nothing;
  }
  const percent = (share: number): string => text.format.short(100 * share);
  const said = error.of === 'models' ? ofModels(app, error) : text.t(`expected.${error.of}`, { ttft: percent(error.ttft), tpot: percent(error.tpot), rows: text.format.whole(error.rows) });
  return html`<p class="headline-details" data-expected=${error.of} data-ttft=${error.ttft} data-tpot=${error.tpot}>${said} ${errorBand(app, summary)}</p>`;
}

/** Of a model of one's own there is no measurement: what other models were off by, and what that leaves out. */
function ofModels({ text }: App, { ttft, tpot, models, is_calibrated }: NonNullable<Summary['expected_error']>): string {
  if (models === null) return '';
  const percent = (share: number): string => text.format.short(100 * share);
  const said = text.t('expected.models', {
    count: models.count, ttft: percent(ttft), tpot: percent(tpot), worst_ttft: percent(models.worst_ttft), worst_tpot: percent(models.worst_tpot),
  });
  return is_calibrated ? [said, text.t('expected.models_calibrated')].join(text.language === 'zh' ? '' : ' ') : said;
}
