// One screen of a lesson: its sentences, its prediction, its figure. The run of the screen is the page's own, so that the
// playground shows the same one.
import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { keyed } from 'lit/directives/keyed.js';
import '../draw/chart-view.js';
import type { ChartFeed } from '../draw/chart-feed.js';
import { FirstDifference } from '../compare/first-difference.js';
import { LightElement } from '../app/element.js';
import { wholeFeed } from '../replicas/replicas-feed.js';
import { runHero, type RunHero } from '../hero/run-hero.js';
import { lessons } from '../i18n/en/lessons.js';
import { BesideRun } from '../simulation/beside-run.js';
import { resolve } from '../simulation/module.js';
import { keepProgress, progressOf, type LessonEntry, type Progress } from '../state/lessons.js';
import { withoutDefaults } from '../state/store.js';
import { sameValues, type Values } from '../simulation/values.js';
import { partsOf, type Watchable } from '../lib/topic.js';
import { HERO, valuesOf, type Lesson, type Screen } from './lesson.js';
import { prediction } from './prediction.js';
import { paragraphs } from './sentence.js';
import { sideFeed } from './side-feed.js';
import { RUNS, type Run, type Runs } from './terms.js';
import { tryAgain } from '../ui/try-again.js';
import './lesson-quiz.js';
import './lessons.css';
import { part } from '../lib/part.js';

export class LessonView extends LightElement {
  static override properties = { ...LightElement.properties, entry: { attribute: false }, lesson: { attribute: false }, next: { attribute: false }, progress: { state: true } };
  declare entry: LessonEntry;
  declare lesson: Lesson;
  /** The lesson after this one. */
  declare next: LessonEntry | null;
  declare progress: Progress;
  readonly #other = new BesideRun();
  /** What the two runs of a screen treat differently first. */
  #first: FirstDifference | null = null;
  #feeds: Readonly<Record<Run, ChartFeed>> | null = null;
  /** The run before is one of another screen. */
  #alone: ChartFeed | null = null;
  /** The picture, of the lesson that it was made for. */
  #hero: { id: string; picture: RunHero } | null = null;
  /** The screen whose settings have been taken up. */
  #entered = 0;
  #main: Runs['main'] = null;
  #drawn = (): void => undefined;

  protected override watched(): Watchable[] {
    const { app } = this;
    return [app.session, app.store.values, app.belonging.stale, this.#other.shown, partsOf(app.view, ({ lesson }) => lesson)];
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#drawn = this.#other.shown.subscribe(() => { this.app.scheduler.invalidateAll(); });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#drawn();
    this.#other.end();
    this.#first?.end();
    this.#entered = 0;
  }

  get #place(): number {
    return Math.min(this.app.view.value.lesson?.screen ?? 1, this.#count);
  }

  /** The last screen has the questions. */
  get #count(): number {
    return this.lesson.screens.length + 1;
  }

  /** The questions are about the run that was seen last. */
  get #screen(): Screen | undefined {
    return this.lesson.screens[Math.min(this.#place, this.lesson.screens.length) - 1];
  }

  #values(screen: Screen, held = true): Values {
    const { control } = screen;
    const values = valuesOf(this.lesson, screen, held && control !== undefined ? this.app.store.resolved.values[control] : undefined);
    return withoutDefaults(values, resolve(values));
  }

  get #fits(): boolean {
    const screen = this.#screen;
    return screen !== undefined && sameValues(this.#values(screen), this.app.store.values.value);
  }

  /** Where the reader has left the lesson, it neither takes up settings nor keeps a screen. */
  protected override shouldUpdate(): boolean {
    const { tab, lesson } = this.app.view.value;
    return tab === 'learn' && lesson?.id === this.entry.id;
  }

  protected override willUpdate(changed?: PropertyValues): void {
    super.willUpdate();
    if (changed?.has('entry') === true) {
      this.progress = progressOf(this.entry.id);
      this.#entered = 0;
    }
    if (this.#entered !== this.#place) this.#enter();
    const { answer } = this.app.session.value;
    if (answer !== null && !answer.preview && this.app.belonging.agrees && this.#fits) this.#main = answer.summary;
    this.#askBeside();
  }

  /** Takes up the screen's settings, unless a link or the way back has brought them. */
  #enter(): void {
    const { app } = this;
    const screen = this.#screen;
    this.#entered = this.#place;
    this.#main = null;
    if (screen === undefined) return;
    app.traceFile.expect(null);
    if (app.traceFile.info.value !== null) void app.traceFile.clear();
    const values = this.#values(screen, false);
    if (!this.#fits) {
      // Not within the drawing that finds it out.
      queueMicrotask(() => { app.editor.replace(values, 'lesson'); });
    }
    this.#keep({ screen: this.#place });
  }

  #keep(change: Partial<Progress>): void {
    this.progress = { ...this.progress, ...change };
    keepProgress(this.entry.id, this.progress);
  }

  /** The settings of the other run, where the screen has one. */
  get #besides(): Values | null {
    const screen = this.#screen;
    return screen?.beside === undefined ? null : { ...this.app.store.values.value, ...screen.beside };
  }

  #askBeside(): void {
    const values = this.#besides;
    if (values === null || !this.#fits) return;
    const charts = (this.#screen?.figure ?? []).filter((name) => name !== HERO);
    this.#other.ask(values, { ...this.app.options, window: null, in_sight: charts });
  }

  get #runs(): Runs {
    const values = this.#besides;
    return { main: this.#main, beside: values === null ? null : (this.#other.of(values)?.answer?.summary ?? null) };
  }

  protected override updated(changed?: PropertyValues): void {
    // A frame leaves the focus where it is in the page around it.
    if (changed?.has('entry') === true && this.app.embed === null) this.#focus();
    this.#lookForFirst();
  }

  /** Not before the prediction: the run that it is about is not drawn yet. */
  #lookForFirst(): void {
    const besides = this.#besides;
    if (besides === null || this.#hidden || !this.#fits || this.#main === null) this.#first?.end();
    else this.#firstOf.look(this.app.store.values.value, besides);
  }

  /** Whether the screen's own run waits for the prediction. */
  get #hidden(): boolean {
    return this.#screen?.predict !== undefined && this.progress.predicted[this.#place] === undefined;
  }

  get #firstOf(): FirstDifference {
    if (this.#first === null) {
      this.#first = new FirstDifference(this.app);
      this.#first.found.subscribe(() => { this.app.scheduler.invalidateAll(); });
    }
    return this.#first;
  }

  #go(screen: number): void {
    const there = this.lesson.screens[Math.min(screen, this.lesson.screens.length) - 1];
    if (there === undefined) return;
    this.app.learn({ id: this.entry.id, screen }, this.#values(there, false));
    void this.updateComplete.then(() => { this.#focus(); });
  }

  #focus(): void {
    this.querySelector<HTMLElement>('#screen-title')?.focus({ preventScroll: true });
    this.scrollIntoView({ block: 'start' });
  }

  protected override render(): TemplateResult {
    const { app, entry } = this;
    const { language } = app.text;
    const say = app.text.say(lessons);
    const place = this.#place;
    const quiz = place === this.#count;
    const screen = this.#screen;
    const title = quiz ? say('quiz') : screen?.title[language];
    return html`
      <article class="lesson" data-lesson=${entry.id} aria-labelledby="lesson-title">
        <header>
          <button type="button" class="quiet" data-action="lessons" @click=${() => { app.show('learn'); }}>← ${say('all')}</button>
          <h2 id="lesson-title">${entry.title[language]}</h2>
          <nav aria-label=${say('screens')}><ol class="steps">${Array.from({ length: this.#count }, (_, index) => html`<li><button type="button" data-step=${index + 1} aria-label=${say('screen', { screen: index + 1 })}
            aria-current=${place === index + 1 ? 'step' : 'false'} @click=${() => { this.#go(index + 1); }}>${index + 1}</button></li>`)}</ol></nav>
        </header>
        <section data-screen=${place} aria-labelledby="screen-title">
          <p class="count"><small>${say('progress', { screen: place, count: this.#count })}${screen?.breaks === true && !quiz ? html` · ${say('breaks')}` : nothing}</small></p>
          <h3 id="screen-title" tabindex="-1">${title}</h3>
          ${quiz ? this.#quiz() : screen === undefined ? nothing : this.#content(screen)}
          <p class="turn">
            <button type="button" data-action="back" ?disabled=${place === 1} @click=${() => { this.#go(place - 1); }}>${say('back')}</button>
            <button type="button" class="act" data-action="next" ?hidden=${quiz} @click=${() => { this.#go(place + 1); }}>${say('next')}</button>
            <button type="button" class="quiet" data-action="playground" @click=${() => { app.show('explore'); }}>${say('playground')}</button>
            <button type="button" class="quiet" data-action="embed" @click=${() => { void this.#copyFrame(title ?? ''); }}>${say('embed')}</button>
          </p>
        </section>
      </article>`;
  }

  #content(screen: Screen): TemplateResult {
    const { app } = this;
    const place = this.#place;
    const runs = this.#runs;
    const predicted = this.progress.predicted[place];
    const hidden = this.#hidden;
    const reported = new Set<number>();
    return html`
      ${this.#state()}
      <div class="lesson-text">${paragraphs(app, screen.text, screen, runs, reported)}</div>
      ${keyed(place, prediction({ app, screen, runs, reported, predicted, predict: (value) => { this.#predict(value); } }))}
      ${hidden || screen.result === undefined ? nothing : html`<div class="lesson-text results" aria-live="polite">${paragraphs(app, screen.result, screen, runs, reported)}</div>`}
      ${keyed(`${this.entry.id} ${String(place)}`, this.#figure(screen, hidden))}`;
  }

  #predict(value: number | null): void {
    this.#keep({ predicted: { ...this.progress.predicted, [this.#place]: value } });
    // The chart that was there moves onto the axes of both.
    this.app.scheduler.invalidateAll();
  }

  async #copyFrame(title: string): Promise<void> {
    const { app } = this;
    const { copyLessonFrame } = await part(() => import('../draw/frame.js'));
    if (await copyLessonFrame(app, title)) app.notices.info('embed_copied', () => app.text.say(lessons)('embed.copied'));
  }

  /** What keeps the screen's run from being shown. */
  #state(): TemplateResult | typeof nothing {
    const { app } = this;
    const say = app.text.say(lessons);
    const [error] = app.errors.value;
    if (error !== undefined) return html`<p class="notice error" role="alert">${say('no_run', { message: app.named(error) })}</p>`;
    const besides = this.#besides;
    const errors = besides === null ? [] : (this.#other.of(besides)?.errors ?? []);
    if (errors.length > 0) return tryAgain(app, errors, () => { this.#other.again(); });
    if (this.#fits) return nothing;
    return html`<p class="notice" data-moved>${say('moved')} <button type="button" @click=${() => {
      const screen = this.#screen;
      if (screen !== undefined) app.editor.replace(this.#values(screen, false), 'lesson');
    }}>${say('restore')}</button></p>`;
  }

  #figure(screen: Screen, hidden: boolean): unknown {
    const names = screen.figure ?? [];
    if (names.includes(HERO)) return this.#picture(screen);
    const alone = (this.#alone ??= { ...wholeFeed(this.app), ghost: () => null, readsOnHover: true });
    if (screen.beside === undefined) return hidden ? nothing : names.map((name) => html`<chart-view .app=${this.app} .name=${name} .feed=${alone} .beside=${'lesson'}></chart-view>`);
    const feeds = (this.#feeds ??= { main: sideFeed(this.app, this.#other, 'main', this.#firstOf, () => this.#hidden), beside: sideFeed(this.app, this.#other, 'beside', this.#firstOf, () => this.#hidden) });
    const shown = RUNS.filter((run) => run === 'beside' || !hidden).reverse();
    return html`<div class="sides ${shown.length === 1 ? 'one' : ''}">${shown.map((run) => html`<section data-run=${run} aria-label=${screen.names?.[run][this.app.text.language] ?? run}>
      <h4>${screen.names?.[run][this.app.text.language]}</h4>
      ${names.map((name) => html`<chart-view .app=${this.app} .name=${name} .feed=${feeds[run]} .beside=${run}></chart-view>`)}</section>`)}</div>`;
  }

  #picture({ speed }: Screen): TemplateResult {
    const { id } = this.entry;
    if (this.#hero?.id !== id) {
      this.#hero = { id, picture: runHero(this.app) };
      this.#hero.picture.starts = true;
      this.#hero.picture.speed = speed;
    }
    return html`<div class="lesson-hero">${this.#hero.picture}</div>`;
  }

  #quiz(): TemplateResult {
    const { next } = this;
    const { language } = this.app.text;
    return html`
      ${keyed(this.entry.id, html`<lesson-quiz .app=${this.app} .questions=${this.lesson.questions} .passed=${() => { this.#keep({ passed: true }); }} .go=${(screen: number) => { this.#go(screen); }}></lesson-quiz>`)}
      ${next === null ? nothing : html`<p><button type="button" data-action="next-lesson" @click=${() => { this.app.learn({ id: next.id, screen: 1 }); }}>${this.app.text.say(lessons)('quiz.next', { title: next.title[language] })}</button></p>`}`;
  }
}

customElements.define('lesson-view', LessonView);
