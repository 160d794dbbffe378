// Three questions at the end of a lesson. All must be right at once; after a failed attempt each wrong answer is named and taken
// away, with the way to its screen, and the options stand in another order.
import { html, nothing, type TemplateResult } from 'lit';
import { keyed } from 'lit/directives/keyed.js';
import { LightElement } from '../app/element.js';
import { lessons } from '../i18n/en/lessons.js';
import type { Watchable } from '../lib/topic.js';
import { orderOf, passes, type Question } from './lesson.js';

type State = 'open' | 'missing' | 'failed' | 'passed';

export class LessonQuiz extends LightElement {
  static override properties = { ...LightElement.properties, questions: { attribute: false }, state: { state: true }, attempt: { state: true } };
  declare questions: readonly Question[];
  declare state: State | undefined;
  declare attempt: number | undefined;
  declare passed: () => void;
  declare go: (screen: number) => void;
  #answers: (number | null)[] = [];
  /** What was answered wrongly in the last attempt, by question. */
  #wrong: ReadonlyMap<number, number> = new Map();

  protected override watched(): Watchable[] {
    return [];
  }

  protected override render(): TemplateResult {
    const say = this.app.text.say(lessons);
    const { language } = this.app.text;
    const attempt = this.attempt ?? 0;
    const done = this.state === 'passed';
    return html`<form class="quiz" data-quiz=${this.state ?? 'open'} @submit=${(event: Event) => { event.preventDefault(); this.#check(); }}>
      <p class="hint">${say('quiz.about')}</p>
      ${keyed(attempt, this.questions.map((question, place) => html`<fieldset data-question=${place} ?disabled=${done}>
        <legend>${place + 1}. ${question.ask[language]}</legend>
        ${orderOf(question.options.length, attempt, place).map((option) => html`<label class=${done && option === question.right ? 'right' : ''}>
          <input type="radio" name="question-${place}" value=${option} .checked=${this.#answers[place] === option} @change=${() => { this.#answers[place] = option; }}>
          <span>${question.options[option]?.[language]}</span></label>`)}
        ${this.#judged(question, place)}
        ${done ? html`<p class="note"><small>${say('quiz.often', { answer: question.options[question.expected]?.[language] ?? '' })} ${question.note[language]}</small></p>` : nothing}
      </fieldset>`))}
      ${done ? nothing : html`<button type="submit" class="act">${say('quiz.check')}</button>`}
      <div role="status">${this.#verdict()}</div>
    </form>`;
  }

  #verdict(): TemplateResult | string {
    const say = this.app.text.say(lessons);
    switch (this.state ?? 'open') {
      case 'open': return '';
      case 'missing': return say('quiz.missing');
      case 'passed': return html`<p class="verdict">${say('quiz.passed')}</p>`;
      case 'failed': return html`<p class="verdict">${say('quiz.failed', { wrong: this.#wrong.size })}</p>`;
    }
  }

  /** What the last attempt was at this question. */
  #judged({ options, screen }: Question, place: number): TemplateResult | typeof nothing {
    if (this.state !== 'failed') return nothing;
    const say = this.app.text.say(lessons);
    const wrong = this.#wrong.get(place);
    if (wrong === undefined) return html`<p class="note" data-judged="right"><small>✓ ${say('quiz.right')}</small></p>`;
    return html`<p class="note" data-judged="wrong"><small>✗ ${say('quiz.wrong', { answer: options[wrong]?.[this.app.text.language] ?? '' })}</small>
      <button type="button" data-read=${screen} @click=${() => { this.go(screen); }}>${say('screen', { screen })}</button></p>`;
  }

  #check(): void {
    if (this.questions.some((_, place) => typeof this.#answers[place] !== 'number')) {
      this.state = 'missing';
      return;
    }
    if (passes(this.questions, this.#answers)) {
      this.state = 'passed';
      this.passed();
      return;
    }
    this.#wrong = new Map(this.questions.flatMap(({ right }, place) => {
      const answer = this.#answers[place];
      return answer === right || typeof answer !== 'number' ? [] : [[place, answer] as const];
    }));
    this.#answers = this.#answers.map((answer, place) => (this.#wrong.has(place) ? null : answer));
    this.attempt = (this.attempt ?? 0) + 1;
    this.state = 'failed';
  }
}

customElements.define('lesson-quiz', LessonQuiz);
