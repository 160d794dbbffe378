// How far the headline numbers are to be expected from a real server's, from the nearest measured deployments.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import type { Text } from '../i18n/text.js';
import type { Summary } from '../simulation/types.js';
import { errorBand } from './error-band.js';

type ExpectedError = NonNullable<Summary['expected_error']>;

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
  return html`<p class="headline-details" data-expected=${error.of} data-ttft=${error.ttft} data-tpot=${error.tpot} data-doubted=${error.doubted?.rows ?? nothing}>${errorWords(text, error)}${ofFirstPool(app)} ${errorBand(app, summary)}</p>`;
}

/** The measurements are looked up for the first pool's deployment. */
function ofFirstPool({ store, text }: App): string {
  const pools = store.resolved.values['fleet.pools'];
  return pools === '' || pools === undefined ? '' : `${text.language === 'zh' ? '' : ' '}${text.t('expected.first_pool')}`;
}

/** What is known of the error; empty where nothing is. */
export function errorWords(text: Text, error: ExpectedError | null): string {
  if (error === null) return '';
  if (error.of === 'models') return sentences(text, [ofModels(text, error), nearestModel(text, error)]);
  const percent = (share: number): string => text.format.short(100 * share);
  const { doubted, of } = error;
  const measured = text.t(`expected.${of}`, { engine: error.engine, ttft: percent(error.ttft), tpot: percent(error.tpot), rows: text.format.whole(error.rows) });
  if (doubted === null) return of === 'model_and_gpu' ? measured : sentences(text, [measured, text.t(`expected.${of}.none`), nearestModel(text, error)]);
  return sentences(text, [measured, text.t('expected.doubted', {
    rows: doubted.rows, ttft: percent(doubted.ttft), tpot: percent(doubted.tpot), peak: percent(doubted.peak_share), other: percent(doubted.other_share),
  })]);
}

/** Of a model of one's own there is no measurement: what other models were off by, and what that leaves out. */
function ofModels(text: Text, { engine, ttft, tpot, models, is_calibrated }: ExpectedError): string {
  if (models === null) return '';
  const percent = (share: number): string => text.format.short(100 * share);
  const said = text.t('expected.models', {
    engine, count: models.count, ttft: percent(ttft), tpot: percent(tpot), worst_ttft: percent(models.worst_ttft), worst_tpot: percent(models.worst_tpot),
  });
  return is_calibrated ? sentences(text, [said, text.t('expected.models_calibrated')]) : said;
}

/** The measured model that is most like this one; empty where there is none. */
function nearestModel(text: Text, { nearest }: ExpectedError): string {
  if (nearest === null) return '';
  const percent = (share: number): string => text.format.short(100 * share);
  return text.t(nearest.is_on_gpu ? 'expected.nearest' : 'expected.nearest_elsewhere', {
    name: nearest.name, ttft: percent(nearest.ttft), tpot: percent(nearest.tpot), rows: text.format.whole(nearest.rows),
  });
}

function sentences(text: Text, all: readonly string[]): string {
  return all.filter((sentence) => sentence !== '').join(text.language === 'zh' ? '' : ' ');
}
