// A figure of the essay: the picture of its own run, which plays while the reader looks at it and follows the hand, its controls, lengths
// or a chart, and what is to be said about it.
import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { live } from 'lit/directives/live.js';
import type { Cursor } from '../app/app.js';
import { LightElement } from '../app/element.js';
import type { Drawable, Size } from '../app/scheduler.js';
import { serviceFeed, type ChartFeed } from '../draw/chart-feed.js';
import '../draw/chart-view.js';
import { roleOf } from '../hero/hero-picture.js';
import { PictureCanvas } from '../hero/picture-canvas.js';
import { countAt, usedShare } from '../hero/places.js';
import { signOf } from '../hero/signs.js';
import { essay as words } from '../i18n/en/essay.js';
import { hero } from '../i18n/en/hero.js';
import { paragraphs } from '../lessons/sentence.js';
import type { Runs } from '../lessons/terms.js';
import { resolve } from '../simulation/module.js';
import type { Diagnostic, Moment, ParameterValue } from '../simulation/types.js';
import { sameValues, type Values } from '../simulation/values.js';
import { ESSAY } from '../state/lesson-place.js';
import { STATIONS } from '../state/stations.js';
import { withoutDefaults } from '../state/store.js';
import { part } from '../lib/part.js';
import { Topic, type Watchable } from '../lib/topic.js';
import { tryAgain } from '../ui/try-again.js';
import { barRows } from './bars.js';
import { later, slowness, ticking } from './clock.js';
import { besideOf, firstChosen, givenOf, textsOf, valuesOf, type Chosen, type Essay, type Figure } from './essay.js';
import { figureControls } from './figure-controls.js';
import { mayMend, type FigureAnswer, type FigureRuns } from './figure-runs.js';
import { pictureWords } from '../hero/words.js';

/** What sets the clock of a figure by itself. */
const OWN = 'essay';
const PHASES = ['queue', 'prefill', 'decode', 'stalled'] as const;
/** A picture that is played to within this of the server's own time is said to be at its speed. */
const ABOUT = 1.05;

export class EssayFigure extends LightElement implements Drawable {
  static override properties = {
    ...LightElement.properties, essay: { attribute: false }, figure: { attribute: false }, number: { attribute: false }, runs: { attribute: false }, reported: { attribute: false },
    seen: { attribute: false }, current: { attribute: false }, chosen: { state: true }, answer: { state: true }, errors: { state: true }, held: { state: true },
  };
  declare essay: Essay;
  declare figure: Figure;
  /** From 1. */
  declare number: number;
  declare runs: FigureRuns;
  /** Words of the glossary that figures before this one have explained. */
  declare reported: ReadonlySet<number>;
  /** Whether any of it is in the window, and whether the reader looks at it. */
  declare seen: boolean;
  declare current: boolean;
  declare chosen: Chosen;
  /** The last run, and what the controls said for it: while another one is under way, the sentences are still of this one. */
  declare answer: FigureAnswer | null;
  declare errors: readonly Diagnostic[];
  /** Whether the reader has stopped it. */
  declare held: boolean;
  readonly asks = true;
  /** Of the picture and of the chart below it. */
  readonly clock = new Topic<Cursor | null>(null);
  #chosenFor: Chosen | null = null;
  #asked: Values | null = null;
  #moment: Moment | null = null;
  readonly #canvas = new PictureCanvas();
  #asking = false;
  #stale = false;
  #stop: (() => void) | null = null;
  #played = false;
  /** Heard by the chart. */
  readonly #answered = new Topic<FigureAnswer | null>(null);
  #feed: ChartFeed | null = null;
  #drag: { x: number; time: number } | null = null;
  readonly #still = matchMedia('(prefers-reduced-motion: reduce)');
  readonly #online = (): void => { if (mayMend(this.errors)) this.#again(); };

  protected override watched(): Watchable[] {
    return [];
  }

  get place(): HTMLElement {
    return this.querySelector<HTMLElement>('.essay-canvas') ?? this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.answer ??= null;
    this.errors ??= [];
    this.clock.subscribe((value) => { this.#clockMoved(value); });
    addEventListener('online', this.#online);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#pause();
    this.app.scheduler.remove(this);
    removeEventListener('online', this.#online);
  }

  protected override willUpdate(): void {
    super.willUpdate();
    this.chosen ??= firstChosen(this.essay, this.figure);
    this.#ask();
  }

  protected override firstUpdated(): void {
    this.app.scheduler.add(this);
  }

  protected override updated(changed: PropertyValues): void {
    if (changed.has('current') || changed.has('held') || changed.has('answer')) this.#playOrPause();
  }

  /** The thread of the runs has ended; what is drawn stays. */
  forget(): void {
    this.#asked = null;
    this.#pause();
  }

  get #values(): Values {
    return valuesOf(this.essay, this.figure, this.chosen);
  }

  /** Only what is in the window is computed, and once for each setting. */
  #ask(): void {
    const values = this.#values;
    if (this.seen !== true || (this.#asked !== null && sameValues(this.#asked, values))) return;
    this.#asked = values;
    const { chosen } = this;
    this.runs.want({
      slot: this.number, values, beside: besideOf(this.figure, values), charts: this.figure.chart === undefined ? [] : [this.figure.chart],
      answered: (answer) => {
        this.answer = answer;
        this.#chosenFor = chosen;
        this.errors = [];
        this.#answered.set(answer);
        this.app.scheduler.invalidateAll();
        void this.#look();
      },
      failed: (errors) => { this.errors = errors; },
    });
  }

  #again(): void {
    this.#asked = null;
    this.errors = [];
    this.requestUpdate();
  }

  get #time(): number {
    return Math.min(this.clock.value?.time ?? this.figure.still_s, this.#end);
  }

  get #end(): number {
    return this.answer?.main.makespan_s ?? 0;
  }

  /** Someone points at another time in the chart below, or leaves it. */
  #clockMoved(value: Cursor | null): void {
    if (value !== null && value.chart !== OWN) this.held = true;
    void this.#look();
  }

  /** Asks for the picture of the clock's time: one at a time, the newest next. */
  async #look(): Promise<void> {
    this.#stale = true;
    if (this.#asking || this.answer === null) return;
    this.#asking = true;
    while (this.#stale && this.isConnected) {
      this.#stale = false;
      const moment = await this.runs.moment(this.number, this.#time, this.figure.span_s);
      if (moment === null) break;
      this.#moment = moment;
      this.app.scheduler.invalidate(this);
      this.#showTime();
    }
    this.#asking = false;
  }

  get #mayPlay(): boolean {
    return this.current === true && this.held !== true && this.answer !== null && !this.#still.matches;
  }

  #playOrPause(): void {
    if (!this.#mayPlay) {
      this.#pause();
      return;
    }
    this.dataset['playing'] = '';
    if (!this.#played) this.clock.set({ time: this.figure.from_s, chart: OWN, plays: true });
    this.#played = true;
    this.#stop ??= ticking((passed) => {
      if (this.#drag !== null) return;
      const time = later(this.clock.value?.time ?? 0, passed, { from_s: this.figure.from_s, end_s: this.#end, plays_s: this.figure.plays_s });
      this.clock.set({ time, chart: OWN, plays: true });
    });
  }

  #pause(): void {
    delete this.dataset['playing'];
    this.#stop?.();
    this.#stop = null;
  }

  #scrub(time: number): void {
    this.held = true;
    this.clock.set({ time: Math.min(this.#end, Math.max(0, time)), chart: OWN });
  }

  #choose(control: number, value: ParameterValue): void {
    this.chosen = this.chosen.map((before, index) => (index === control ? value : before));
  }

  protected override render(): TemplateResult {
    const { app, figure } = this;
    const { language } = app.text;
    const say = app.text.say(words);
    const title = `figure-${figure.id}`;
    return html`
      <section class="essay-figure" data-figure=${figure.id} data-digest=${this.answer?.main.digest ?? ''} data-state=${this.errors.length > 0 ? 'failed' : this.answer === null ? 'waiting' : sameValues(this.answer.values, this.#values) ? 'ready' : 'running'} aria-labelledby=${title}>
        <h3 id=${title} tabindex="-1"><span class="number">${this.number}</span> ${figure.title[language]}</h3>
        ${this.errors.length > 0 ? tryAgain(app, this.errors, () => { this.#again(); }) : nothing}
        ${this.#picture()}
        <div class="essay-beside">
          ${figureControls({ app, id: figure.id, controls: figure.controls ?? [], chosen: () => this.chosen, first: firstChosen(this.essay, figure), choose: (control, value) => { this.#choose(control, value); } })}
          ${figure.bars === undefined ? nothing : barRows(app, figure.bars, this.#runsNow)}
        </div>
        ${figure.chart === undefined ? nothing : html`<chart-view .app=${app} .name=${figure.chart} .feed=${this.#feedOf()} .beside=${`essay-${figure.id}`}></chart-view>`}
        <div class="essay-text" data-text>${this.#paragraphs()}</div>
        ${app.embed === null ? html`<p class="essay-actions">
          <button type="button" class="quiet" data-action="explore" @click=${() => { this.#explore(); }}>${say('explore')}</button>
          <button type="button" class="quiet" data-action="embed" @click=${() => { void this.#copyFrame(); }}>${say('embed')}</button></p>` : nothing}
      </section>`;
  }

  #paragraphs(): TemplateResult[] {
    const reported = new Set(this.reported);
    return textsOf(this.figure, this.#chosenFor ?? this.chosen).flatMap((text) => paragraphs(this.app, text, this.figure, this.#runsNow, reported));
  }

  get #runsNow(): Runs {
    return { main: this.answer?.main ?? null, beside: this.answer?.beside ?? null, given: givenOf(this.essay, this.figure, this.#chosenFor ?? this.chosen) };
  }

  #picture(): TemplateResult {
    const t = this.app.text.say(hero);
    const still = this.#still.matches;
    const isPlaying = this.held !== true;
    return html`
      <div class="essay-picture">
        <div class="essay-canvas" role="img" aria-label=${t('label')} @pointerdown=${(event: PointerEvent) => { this.#press(event); }} @pointermove=${(event: PointerEvent) => { this.#move(event); }}
          @pointerup=${() => { this.#drag = null; }} @pointercancel=${() => { this.#drag = null; }}><canvas aria-hidden="true"></canvas></div>
        <ol class="essay-stations" aria-hidden="true">${STATIONS.map((station) => html`<li>${this.app.text.t(`station.${station}`)}</li>`)}</ol>
        <div class="essay-foot">
          ${still ? nothing : html`<button type="button" class="icon" data-action="play" aria-label=${t(isPlaying ? 'pause' : 'play')} title=${t(isPlaying ? 'pause' : 'play')}
            @click=${() => { this.held = isPlaying; }}>${isPlaying ? '❚❚' : '▶'}</button>`}
          <input type="range" min="0" max=${this.#end} step="any" .value=${live(String(this.#time))} aria-label=${t('time')}
            @input=${(event: Event) => { this.#scrub(Number((event.target as HTMLInputElement).value)); }} @keydown=${(event: KeyboardEvent) => { this.#key(event); }}>
          <span class="essay-time"></span>
          ${still ? nothing : html`<span class="essay-speed">${this.#speed()}</span>`}
          <ul class="essay-legend">${PHASES.map((phase) => html`<li data-role=${phase}>${signOf(phase, 'square')}${t(`phase.${phase}`)}</li>`)}${this.#users()}</ul>
        </div>
      </div>`;
  }

  #speed(): string {
    const { format } = this.app.text;
    const say = this.app.text.say(words);
    const slower = slowness(this.#end, this.figure.plays_s);
    const about = (times: number): string => format.short(Number(times.toPrecision(2)));
    if (this.#end === 0) return '';
    if (slower > ABOUT) return say('slower', { times: about(slower) });
    return slower < 1 / ABOUT ? say('faster', { times: about(1 / slower) }) : say('true_speed');
  }

  #users(): readonly TemplateResult[] {
    return (this.figure.users ?? []).map((name, user) => html`<li class="user" data-role=${roleOf(user)}>${signOf(roleOf(user), 'disc')}${name[this.app.text.language]}</li>`);
  }

  /** What changes with every frame is written without drawing the element again. */
  #showTime(): void {
    const moment = this.#moment;
    if (moment === null) return;
    const { format } = this.app.text;
    const t = this.app.text.say(hero);
    const range = this.querySelector<HTMLInputElement>('.essay-foot input');
    const shown = this.querySelector<HTMLElement>('.essay-time');
    if (range !== null) {
      range.value = String(this.#time);
      range.setAttribute('aria-valuetext', t('sentence', {
        time: format.seconds(moment.time_s), held: countAt(moment, 'gateway'), waiting: countAt(moment, 'queue'), running: countAt(moment, 'pool'),
        prefill: moment.places.flatMap(({ phases }) => phases).filter((phase) => phase === 0).length, share: format.share(usedShare(moment)),
      }));
    }
    if (shown !== null) {
      shown.textContent = t('at', { time: format.seconds(this.#time), end: format.seconds(this.#end) });
      shown.dataset['time'] = String(this.#time);
    }
  }

  draw(size: Size): void {
    const moment = this.#moment;
    if (moment === null) return;
    const layout = this.#canvas.draw(this, size, {
      moment, span: this.figure.span_s, colours: this.app.paper(), byUser: this.figure.users !== undefined, marked: null, words: pictureWords(this.app.text, moment),
    }, this.dataset['playing'] !== undefined);
    const canvas = this.querySelector('canvas');
    if (layout !== null && canvas !== null) canvas.dataset['drawn'] = String(moment.time_s);
  }

  /** The whole width of the picture is the whole run. */
  #press(event: PointerEvent): void {
    if (event.button !== 0 || this.#end === 0) return;
    this.#drag = { x: event.clientX, time: this.#time };
  }

  #move(event: PointerEvent): void {
    const drag = this.#drag;
    if (drag === null) return;
    const box = event.currentTarget as HTMLElement;
    if (!box.hasPointerCapture(event.pointerId)) box.setPointerCapture(event.pointerId);
    this.#scrub(drag.time + ((event.clientX - drag.x) / box.clientWidth) * this.#end);
  }

  /** A step is a hundredth of the run, with Shift a tenth. */
  #key(event: KeyboardEvent): void {
    const direction = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (direction === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.#scrub(this.#time + direction * this.#end * (event.shiftKey ? 0.1 : 0.01));
  }

  #feedOf(): ChartFeed {
    const service = serviceFeed(this.app);
    this.#feed ??= {
      title: (name) => service.title(name),
      about: (name) => service.about(name),
      role: (name, role) => service.role(name, role),
      topic: () => this.#answered,
      zooms: false,
      readsOnHover: true,
      clock: this.clock,
      chart: (name) => this.answer?.charts.find((chart) => chart.name === name),
      ghost: () => null,
      // The card of a request is of the page's own run.
      pick: () => undefined,
    };
    return this.#feed;
  }

  async #copyFrame(): Promise<void> {
    const { app, figure } = this;
    app.learn({ id: ESSAY, screen: this.number });
    const { copyLessonFrame } = await part(() => import('../draw/frame.js'));
    if (await copyLessonFrame(app, figure.title[app.text.language])) app.notices.info('embed_copied', () => app.text.say(words)('embed.copied'));
  }

  /** The same run with all controls; the Back button leads back to this figure. */
  #explore(): void {
    const { app } = this;
    const values = this.#values;
    app.traceFile.expect(null);
    if (app.traceFile.info.value !== null) void app.traceFile.clear();
    app.learn({ id: ESSAY, screen: this.number });
    app.take({ values: withoutDefaults(values, resolve(values)) });
  }
}

customElements.define('essay-figure', EssayFigure);
