// The essay at the top of Learn: its figures one below the other. The one that the reader looks at plays; one thread computes for all of
// them, and ends when the essay is left.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { LightElement } from '../app/element.js';
import { essay as words } from '../i18n/en/essay.js';
import { paragraphs } from '../lessons/sentence.js';
import { partsOf, type Watchable } from '../lib/topic.js';
import { ESSAY } from '../state/lesson-place.js';
import { fetchEssay, firstChosen, textsOf, type Essay } from './essay.js';
import { EssayFigure } from './essay-figure.js';
import { FigureRuns } from './figure-runs.js';
import { sameSight, watchSight, type Sighted } from './in-view.js';
import './essay.css';

const NONE: Sighted = { seen: new Set(), current: null };
const NO_WORDS: ReadonlySet<number> = new Set();
/** Where a reader goes on. */
const NEXT = ['explore', 'plan', 'validation'] as const;

export function essayView(app: App): EssayView {
  return EssayView.of(app);
}

export class EssayView extends LightElement {
  static override properties = { ...LightElement.properties, essay: { state: true }, failed: { state: true }, sighted: { state: true } };
  declare essay: Essay | null;
  declare failed: boolean;
  declare sighted: Sighted;
  readonly #runs = new FigureRuns();
  #unwatch: (() => void) | null = null;
  #watched: readonly Element[] = [];
  /** What figures explain, in the language in which they were drawn last: a figure is drawn again only for what changes in it. */
  #reported: { language: string; before: readonly ReadonlySet<number>[] } | null = null;
  /** The figure that a link led to. */
  #ledTo = 0;

  protected override watched(): Watchable[] {
    return [partsOf(this.app.view, ({ tab }) => tab, ({ lesson }) => lesson)];
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.essay ??= null;
    this.sighted = NONE;
    void this.#fetch();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#leave();
  }

  async #fetch(): Promise<void> {
    if (this.essay !== null) return;
    this.failed = false;
    try {
      this.essay = await fetchEssay();
    } catch (thrown) {
      console.warn('essay:', thrown);
      this.failed = true;
    }
  }

  /** Whether the reader is where the essay is. */
  get #isHere(): boolean {
    const { tab, lesson } = this.app.view.value;
    return tab === 'learn' && (lesson === null || lesson.id === ESSAY);
  }

  /** The figure that the address names; 0: none. */
  get #placed(): number {
    const { lesson } = this.app.view.value;
    return lesson?.id === ESSAY ? lesson.screen : 0;
  }

  /** In a frame of another page one figure is shown. */
  get #alone(): boolean {
    return this.app.embed !== null;
  }

  protected override willUpdate(): void {
    super.willUpdate();
    if (!this.#isHere) this.#leave();
  }

  protected override updated(): void {
    const figures = [...this.querySelectorAll('essay-figure')];
    if (!this.#isHere || figures.length === 0) return;
    if (this.#unwatch === null || figures.some((figure, index) => figure !== this.#watched[index])) {
      this.#unwatch?.();
      this.#watched = figures;
      this.#unwatch = watchSight(figures, (sighted) => { this.#looksAt(sighted); });
    }
    const { current } = this.sighted;
    if (current instanceof EssayFigure) this.#runs.first = current.number;
    this.#lead();
  }

  #looksAt(sighted: Sighted): void {
    if (sameSight(sighted, this.sighted)) return;
    const { current: before } = this.sighted;
    this.sighted = sighted;
    const { current } = sighted;
    // The first figure that is seen is no step of the reader's.
    if (before !== null && before !== current && current instanceof EssayFigure) this.#follow(current.number);
  }

  /** The address names the figure to which the reader has scrolled. */
  #follow(number: number): void {
    if (this.#alone || !this.#isHere || number === Math.max(1, this.#placed)) return;
    this.#ledTo = number;
    this.app.scrolledTo({ id: ESSAY, screen: number });
  }

  #leave(): void {
    this.#unwatch?.();
    this.#unwatch = null;
    this.#ledTo = 0;
    this.#runs.end();
    for (const figure of this.querySelectorAll('essay-figure')) if (figure instanceof EssayFigure) figure.forget();
    if (this.sighted !== NONE) this.sighted = NONE;
  }

  /** To the figure that a link or the way back names, once. */
  #lead(): void {
    const placed = this.#placed;
    if (placed === this.#ledTo) return;
    this.#ledTo = placed;
    if (placed <= 1 || this.#alone) return;
    // The page goes to the top of another tab first.
    requestAnimationFrame(() => { this.#scrollTo(placed); });
  }

  #heading(number: number): HTMLElement | null {
    return this.querySelector<HTMLElement>(`essay-figure[data-number="${String(number)}"] h3`);
  }

  #scrollTo(number: number): void {
    this.#heading(number)?.scrollIntoView({ block: 'start', behavior: 'instant' });
  }

  #go(number: number): void {
    this.#ledTo = number;
    this.app.learn({ id: ESSAY, screen: number });
    this.#scrollTo(number);
    this.#heading(number)?.focus({ preventScroll: true });
  }

  protected override render(): TemplateResult {
    const { app, essay } = this;
    const { language } = app.text;
    const say = app.text.say(words);
    if (this.failed) return html`<p class="notice error" role="alert" data-missing="essay"><span>${say('failed')}</span> <button type="button" @click=${() => { void this.#fetch(); }}>${say('again')}</button></p>`;
    if (essay === null) return html`<p role="status">${say('fetching')}</p>`;
    if (this.#reported?.language !== language) this.#reported = { language, before: reportedBefore(app, essay) };
    const { before } = this.#reported;
    const figures = essay.figures.map((figure, index) => ({ figure, number: index + 1 })).filter(({ number }) => !this.#alone || number === Math.max(1, this.#placed));
    return html`
      <article class="essay" aria-labelledby="essay-title">
        ${this.#alone ? html`<h2 class="visually-hidden" id="essay-title">${essay.title[language]}</h2>` : html`<header>
          <h2 id="essay-title">${essay.title[language]}</h2>
          <p class="about">${essay.about[language]}</p>
          <nav aria-label=${say('contents')}><ol class="essay-contents">${figures.map(({ figure, number }) => html`<li><button type="button" data-go=${number} @click=${() => { this.#go(number); }}>${number}. ${figure.title[language]}</button></li>`)}
            <li><button type="button" data-go="lessons" @click=${() => { document.querySelector('#learn-lessons')?.scrollIntoView({ block: 'start' }); }}>${say('lessons')}</button></li></ol></nav>
        </header>`}
        ${figures.map(({ figure, number }) => html`<essay-figure data-number=${number} .app=${app} .essay=${essay} .figure=${figure} .number=${number} .runs=${this.#runs} .reported=${before[number - 1] ?? NO_WORDS}
          .seen=${this.#isSeen(number)} .current=${this.#isCurrent(number)}></essay-figure>`)}
        ${this.#alone ? nothing : html`<p class="essay-next">${say('next')} ${NEXT.map((tab) => html`<button type="button" data-next=${tab} @click=${() => { app.show(tab); }}>${say(`next.${tab}`)}</button>`)}</p>`}
      </article>`;
  }

  #isSeen(number: number): boolean {
    return [...this.sighted.seen].some((element) => element instanceof EssayFigure && element.number === number);
  }

  #isCurrent(number: number): boolean {
    const { current } = this.sighted;
    return current instanceof EssayFigure && current.number === number;
  }
}

/** By figure: the words of the glossary that those before it explain. A word is explained once on the page. */
function reportedBefore(app: App, essay: Essay): ReadonlySet<number>[] {
  const reported = new Set<number>();
  const runs = { main: null, beside: null };
  return essay.figures.map((figure) => {
    const before = new Set(reported);
    for (const text of textsOf(figure, firstChosen(essay, figure))) paragraphs(app, text, figure, runs, reported);
    return before;
  });
}

customElements.define('essay-view', EssayView);
