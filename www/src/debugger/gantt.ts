// The requests that are in the service at the time of a step, a lane each: what they do from arrival to end.
import { html, svg, type TemplateResult } from 'lit';
import { debuggerTexts } from '../i18n/en/debugger.js';
import type { Text } from '../i18n/text.js';
import type { DebuggerStep, Gantt, GanttLane, GanttPhase } from '../simulation/types.js';

const WIDTH = 1000;
const HEIGHT = 14;
const PHASES = ['gateway', 'queue', 'loading', 'prefill', 'decode', 'stalled', 'preempted'] as const;

type Go = (way: 'time' | 'request', number: number) => void;

export function ganttOf(text: Text, { gantt, view }: DebuggerStep, go: Go): TemplateResult {
  const say = text.say(debuggerTexts);
  const { from_s, to_s, count, lanes } = gantt;
  const values = { count, from: text.format.fixed(from_s, 2), to: text.format.fixed(to_s, 2), time: text.format.fixed(view.time_s, 3) };
  const listed = lanes.length;
  return html`<section class="gantt" data-part="gantt" aria-label=${say('gantt')}>
    <h4>${say('gantt')}</h4>
    <p class="hint">${listed < count ? say('gantt.listed', { ...values, listed }) : say('gantt.about', values)}</p>
    <ul class="gantt-legend">${PHASES.filter((phase) => lanes.some(({ phases }) => phases.some((one) => one.phase === phase))).map((phase) => html`<li data-phase=${phase}>${say(`gantt.${phase}`)}</li>`)}</ul>
    <ol class="gantt-lanes" tabindex="0" aria-label=${say('gantt')}>${lanes.map((lane) => row(text, gantt, lane, view.time_s, go))}</ol>
  </section>`;
}

function row(text: Text, { from_s, to_s }: Gantt, lane: GanttLane, time_s: number, go: Go): TemplateResult {
  const say = text.say(debuggerTexts);
  const span = Math.max(to_s - from_s, 1e-9);
  const at = (seconds: number): number => (WIDTH * (seconds - from_s)) / span;
  const request = String(lane.request);
  const clicked = (event: MouseEvent): void => {
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect();
    go('time', Math.max(from_s + (span * (event.clientX - left)) / width, 0));
  };
  return html`<li data-request=${request}>
    <button type="button" class="quiet" aria-label=${say('gantt.to_request', { request })} @click=${() => { go('request', lane.request); }}>${request}</button>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label=${say('gantt.lane', { request, phases: reported(text, lane) })} @click=${clicked}>
      ${lane.phases.map((phase) => svg`<path class="face" data-phase=${phase.phase} d=${outline(phase, at)}/>`)}
      <rect class="now" x=${(at(time_s) - 1).toFixed(2)} y="0" width="2" height=${HEIGHT}></rect>
    </svg></li>`;
}

/** All times of a phase as one path; the shortest is a hairline. */
function outline({ spans_s }: GanttPhase, at: (seconds: number) => number): string {
  let path = '';
  for (let place = 0; place + 1 < spans_s.length; place += 2) {
    const from = at(spans_s[place] ?? 0);
    const width = Math.max(at(spans_s[place + 1] ?? 0) - from, 0.5);
    path += `M${from.toFixed(2)} 0h${width.toFixed(2)}v${String(HEIGHT)}h-${width.toFixed(2)}z`;
  }
  return path;
}

/** How long each phase takes in all, in words. */
function reported(text: Text, { phases }: GanttLane): string {
  const say = text.say(debuggerTexts);
  return text.list(phases.map(({ phase, spans_s }) => {
    const seconds = spans_s.reduce((sum, value, place) => (place % 2 === 0 ? sum - value : sum + value), 0);
    return `${say(`gantt.${phase}`)} ${text.format.seconds(seconds)}`;
  }));
}
