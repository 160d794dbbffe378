// A prediction before the result: one of three, or a point on an axis. Afterwards it stands beside what the simulation gives.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { lessons } from '../i18n/en/lessons.js';
import { vars } from '../ui/style-vars.js';
import { defined } from './defined.js';
import { isPoint, truthOf, type Choice, type Point, type Screen } from './lesson.js';
import { sentence } from './sentence.js';
import { kindOf, valueOf, type Runs } from './terms.js';

const STEPS = 200;

interface Asked {
  app: App;
  screen: Screen;
  runs: Runs;
  /** Words of the glossary that the screen has explained before. */
  reported: Set<number>;
  /** What was predicted; null where it was skipped, undefined before. */
  predicted: number | null | undefined;
  predict: (value: number | null) => void;
}

export function prediction(asked: Asked): TemplateResult | typeof nothing {
  const { app, screen, predicted, predict } = asked;
  const question = screen.predict;
  if (question === undefined) return nothing;
  const say = app.text.say(lessons);
  const open = predicted === undefined;
  return html`
    <div class="prediction" role="group" aria-labelledby="prediction-ask" data-predicted=${open ? nothing : String(predicted)}>
      <p id="prediction-ask" class="ask">${defined(app, question.ask[app.text.language], asked.reported)}</p>
      ${isPoint(question) ? point(asked, question) : choice(asked, question)}
      ${open ? html`<button type="button" class="quiet" data-action="skip" @click=${() => { predict(null); }}>${say('predict.skip')}</button>` : nothing}
      ${open ? nothing : html`<p class="why" role="status">${verdict(asked, question)}${app.text.language === 'zh' ? '' : ' '}${sentence(app, question.why[app.text.language], screen, asked.runs, asked.reported)}</p>`}
    </div>`;
}

function choice({ app, predicted, predict, runs }: Asked, question: Choice): TemplateResult {
  const say = app.text.say(lessons);
  const truth = predicted === undefined ? -1 : truthOf(question, runs);
  return html`<ul class="choices">${question.options.map(({ text }, index) => {
    const notes = [...(predicted === index ? [say('predict.yours')] : []), ...(truth === index ? [say('predict.truth')] : [])];
    return html`<li><button type="button" data-option=${index} data-truth=${truth === index ? 'true' : nothing} aria-pressed=${predicted === index} ?disabled=${predicted !== undefined}
      @click=${() => { predict(index); }}>${text[app.text.language]}</button>${notes.length === 0 ? nothing : html` <small>${app.text.list(notes)}</small>`}</li>`;
  })}</ul>`;
}

/** The place of a value on the axis, 0 to 1. */
function part({ min, max }: Point, value: number): number {
  return Math.min(1, Math.max(0, Math.log(value / min) / Math.log(max / min)));
}

function shown(app: App, { unit }: Point, value: number): string {
  return app.text.format.withUnit(app.text.format.short(value), unit[app.text.language]);
}

function point({ app, predicted, predict, runs }: Asked, question: Point): TemplateResult {
  const say = app.text.say(lessons);
  const { min, max, value } = question;
  const at = (step: number): number => min * (max / min) ** (step / STEPS);
  if (predicted === undefined) {
    const start = STEPS / 2;
    const moved = (event: Event): void => {
      const slider = event.target as HTMLInputElement;
      const words = shown(app, question, at(Number(slider.value)));
      slider.setAttribute('aria-valuetext', words);
      const output = slider.parentElement?.querySelector('output');
      if (output !== null && output !== undefined) output.textContent = words;
    };
    return html`<div class="point"><input type="range" min="0" max=${STEPS} step="1" value=${start} aria-label=${say('predict.point')} aria-valuetext=${shown(app, question, at(start))} @input=${moved}>
      <output>${shown(app, question, at(start))}</output>
      <button type="button" data-action="predict" @click=${(event: Event) => {
        const slider = (event.target as HTMLElement).parentElement?.querySelector('input');
        predict(at(Number(slider?.value ?? start)));
      }}>${say('predict.take')}</button></div>`;
  }
  const truth = valueOf(value, runs);
  return html`<div class="axis" aria-hidden="true"><span class="ends">${shown(app, question, min)}</span><div class="track">
      ${predicted === null ? nothing : html`<i class="mark yours" ${vars({ '--at': percent(part(question, predicted)) })}></i>`}
      ${truth === null ? nothing : html`<i class="mark truth" ${vars({ '--at': percent(part(question, truth)) })}></i>`}
    </div><span class="ends">${shown(app, question, max)}</span></div>`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)}%`;
}

function verdict({ app, predicted, runs }: Asked, question: Choice | Point): string {
  const say = app.text.say(lessons);
  if (predicted === null || predicted === undefined) return '';
  if (!isPoint(question)) {
    const truth = truthOf(question, runs);
    return truth < 0 ? '' : say(truth === predicted ? 'predict.right' : 'predict.wrong');
  }
  const truth = valueOf(question.value, runs);
  if (truth === null) return '';
  const kind = kindOf(question.value);
  return say('predict.both', { yours: shown(app, question, predicted), truth: kind === 'number' ? shown(app, question, truth) : app.text.format.of(kind, truth) });
}
