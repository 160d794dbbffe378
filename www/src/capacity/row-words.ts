// What is said of a configuration, in the answer and in the ranking alike.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { capacity } from '../i18n/en/capacity.js';
import { why } from '../i18n/en/why.js';
import { definition } from '../ui/definition.js';
import { causeOf } from '../why/causes.js';
import type { Row } from './capacity-state.js';
import { missWords } from './miss.js';
import { HEADROOM } from './ranking-columns.js';

/** What a configuration is told by: the values of the axes; `isInSentence` where other words stand before it. */
export function configurationName(app: App, axes: readonly string[], { values }: Pick<Row, 'values'>, isInSentence = false): string {
  const named = values.flatMap((value, axis) => {
    const id = axes[axis] ?? '';
    const parameter = app.parameters.get(id);
    if (value === '') return [];
    const shown = parameter === undefined ? app.text.option(value, id) : app.text.choice(parameter, value);
    // A GPU and a model say themselves what they are.
    if (parameter === undefined || parameter.type === 'choice') return [shown];
    const label = app.text.label(parameter);
    return [`${isInSentence ? withoutCapital(label) : label} ${shown}`];
  });
  return named.length === 0 ? app.text.say(capacity)('configuration.present') : app.text.list(named);
}

/** Names and abbreviations keep their capitals. */
function withoutCapital(label: string): string {
  return /^[A-Z][a-z]+\b/.test(label) ? `${label.charAt(0).toLowerCase()}${label.slice(1)}` : label;
}

/** By how much the load can rise until the goal breaks; a share of several hundred per cent is read as a factor. */
export function headroomWords(app: App, row: Row): string {
  const { format } = app.text;
  const share = HEADROOM.of(row);
  return share !== null && share >= 1 ? app.text.say(capacity)('headroom.times', { times: format.short(1 + share) }) : format.of(HEADROOM.kind, share);
}

/** The mark of little headroom; `id` is its definition's, one on the page. */
export function tightMark(app: App, { standing }: Row, id: string): TemplateResult | typeof nothing {
  if (standing?.need?.is_tight !== true) return nothing;
  const say = app.text.say(capacity);
  return html`<small class="tight">${definition(id, say('headroom.tight'), say('headroom.tight.about'))}</small>`;
}

export function checkState({ checks }: Row): 'holds' | 'fails' | '' {
  const last = checks.at(-1);
  return last === undefined ? '' : last.miss === null ? 'holds' : 'fails';
}

/** What every simulation at the load showed, or why there is none; empty where none was asked for. */
export function checkWords(app: App, { checks, errors }: Row): string {
  const { text } = app;
  const say = text.say(capacity);
  if (errors.length > 0) return say('check.not', { message: text.diagnostics(errors) });
  const reported = checks.map(({ miss, replicas }) => (miss === null ? say('check.holds', { n: replicas }) : say('check.fails', { n: replicas, reason: missWords(app, miss) })));
  return reported.join(text.t('list.sentences'));
}

/** `by`: a limit's parameter, or a cause; `what` it is called, and `how` that is known. */
export interface Limit { by: string; what: string; how: string }

/** A limit of the scheduler without which more is served, or what most of the delays come from; null where neither was seen. */
export function limitOf(app: App, { checks, capacity: found }: Row): Limit | null {
  const { text } = app;
  const say = text.say(capacity);
  const { format } = text;
  const binding = found?.binding ?? null;
  if (binding !== null) {
    const parameter = app.parameters.get(binding.parameter);
    const name = parameter === undefined ? '' : text.label(parameter);
    return {
      by: binding.parameter, what: say('limit.binding', { name, value: format.whole(binding.value) }),
      how: say('limit.raised', { raised: format.whole(binding.raised), rate: format.short(binding.rate_rps) }),
    };
  }
  const limit = checks.at(-1)?.limit ?? null;
  if (limit === null) return null;
  return { by: limit.cause, what: text.say(why)(causeOf(limit.cause)), how: say('limit.share', { share: format.share(limit.share) }) };
}
