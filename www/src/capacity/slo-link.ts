// The SLO of the controls beside the goal of the search: what the goal lacks of it, and a button that takes it over.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app.js';
import { capacity } from '../i18n/en/capacity.js';
import { boundsOf } from '../panels/slo-bounds.js';

/** Bounds of the goal, each with that of the SLO for the same time. */
const TAKEN = [['capacity.ttft_s', 'slo.ttft_s'], ['capacity.tbt_s', 'slo.tbt_s']] as const;

export function sloLink(app: App): TemplateResult {
  const say = app.text.say(capacity);
  const { values } = app.store.resolved;
  const number = (id: string): number => Number(values[id] ?? 0);
  const bounds = boundsOf(app.text, { ttft_s: number('slo.ttft_s'), tpot_s: number('slo.tpot_s'), tbt_s: number('slo.tbt_s') });
  const agrees = TAKEN.every(([goal, slo]) => number(goal) === number(slo));
  const takeOver = (): void => {
    const taken = Object.fromEntries(TAKEN.map(([goal, slo]) => [goal, number(slo)]));
    app.editor.replace({ ...app.store.values.value, ...taken }, 'take the SLO over');
  };
  return html`<p class="about slo-link">${say('slo.of_service', { bounds })}
    ${agrees ? say('slo.same') : html`<button type="button" class="take-slo" @click=${takeOver}>${say('slo.take')}</button>`}
    ${number('slo.tpot_s') > 0 ? say('slo.no_tpot') : nothing}</p>`;
}
