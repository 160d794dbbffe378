// The picture of the run above the stations' numbers: scrubbed by the time cursor of all charts, played on request.
import { html, nothing, type TemplateResult } from 'lit';
import { live } from 'lit/directives/live.js';
import type { App } from '../app/app.js';
import type { Drawable, Size } from '../app/scheduler.js';
import { LightElement } from '../app/element.js';
import { hero } from '../i18n/en/hero.js';
import type { Moment } from '../simulation/types.js';
import { STATIONS } from '../state/stations.js';
import { partsOf, type Watchable } from '../lib/topic.js';
import { HeroData } from './hero-data.js';
import { roleOf } from './hero-picture.js';
import { markAt, type Layout, type Mark } from './layout.js';
import { PictureCanvas } from './picture-canvas.js';
import { countAt, iterationSeconds, poolsOf, usedShare } from './places.js';
import { signOf } from './signs.js';
import { SPEEDS, type Speed } from './speeds.js';
import { pictureWords } from './words.js';
import { vars } from '../ui/style-vars.js';
import './run-hero.css';

const PLAYED_IN_S = 30;
/** Before the time at which the queue is longest, seconds of the run from which the page plays by itself: ten seconds of a reader's time. */
const RISE_S = 3;
/** Before a request that is followed, seconds of its picture. */
const LEAD_S = 2;
/** Cursors that this element sets. */
const OWN = 'hero';
const LEGEND = ['queue', 'prefill', 'decode', 'stalled'] as const;
const NAMED_USERS = 4;

export class RunHero extends LightElement implements Drawable {
  static override properties = { ...LightElement.properties, playing: { state: true }, speed: { state: true }, starts: { attribute: false } };
  declare playing: boolean;
  declare speed: Speed | undefined;
  /** Whether it plays by itself as soon as there is a run; not where the reader asks for less motion. */
  declare starts: boolean | undefined;
  /** Whether it plays once by itself when it is first in sight, towards the longest queue, and goes on until someone points at another time. */
  plays = false;
  declare data: HeroData;
  /** A request of the picture was clicked. */
  picked: (id: number) => void = (id) => { void this.app.select(id); };
  readonly asks = true;
  readonly #canvas = new PictureCanvas();
  #layout: Layout | null = null;
  readonly #still = matchMedia('(prefers-reduced-motion: reduce)');

  protected override watched(): Watchable[] {
    return [this.data.view, this.app.cursor, this.app.follow, partsOf(this.app.view, ({ tab }) => tab, ({ selected }) => selected)];
  }

  get place(): HTMLElement {
    return this.querySelector<HTMLElement>('.hero-canvas') ?? this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.data.look(true);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.playing = false;
    this.data.end();
    this.app.scheduler.remove(this);
  }

  protected override firstUpdated(): void {
    this.app.scheduler.add(this);
  }

  protected override render(): TemplateResult {
    const t = this.app.text.say(hero);
    const { format } = this.app.text;
    const { time, why } = this.data.at;
    const moment = this.data.view.value;
    const end = moment?.end_s ?? 0;
    const playing = this.playing === true;
    return html`
      <div class="hero-canvas" role="img" aria-label=${t('label')} @pointermove=${(event: PointerEvent) => { this.#point(event); }} @click=${(event: MouseEvent) => { this.#pick(event); }} ${vars({ '--pools': String(moment === null ? 1 : poolsOf(moment).length) })}><canvas aria-hidden="true"></canvas></div>
      ${this.starts === undefined ? nothing : html`<ol class="hero-stations" aria-hidden="true">${STATIONS.map((station) => html`<li>${this.app.text.t(`station.${station}`)}</li>`)}</ol>`}
      <div class="hero-foot">
        ${this.#still.matches ? nothing : html`<button type="button" class="icon" data-action="play" aria-label=${t(playing ? 'pause' : 'play')} title=${t(playing ? 'pause' : 'play')}
          @click=${() => { this.#play(!playing); }}>${playing ? '❚❚' : '▶'}</button>`}
        ${this.#step('back', -1, time, end)}${this.#step('on', 1, time, end)}
        <input type="range" min="0" max=${end} step="any" .value=${live(String(time))} aria-label=${t('time')} aria-valuetext=${moment === null ? '' : this.#sentence(moment)}
          @input=${(event: Event) => { this.#scrub(Number((event.target as HTMLInputElement).value)); }} @keydown=${(event: KeyboardEvent) => { this.#key(event, time, end); }} @blur=${() => { this.#leave(); }}>
        <span class="hero-time" data-time=${time} data-why=${why ?? 'cursor'}>${t('at', { time: format.seconds(time), end: format.seconds(end) })}${why === null ? nothing : html` <small>(${t(`why.${why}`)})</small>`}</span>
        ${this.#still.matches ? nothing : html`<select class="hero-speed" aria-label=${t('speed')} @change=${(event: Event) => { this.speed = (event.target as HTMLSelectElement).value as Speed; }}>
          ${SPEEDS.map((speed) => html`<option value=${speed} .selected=${speed === this.#speed}>${t(`speed.${speed}`)}</option>`)}</select>`}
        <ul class="hero-legend">${LEGEND.map((phase) => html`<li data-role=${phase}>${signOf(phase, 'square')}${t(`phase.${phase}`)}</li>`)}${this.#users()}</ul>
      </div>`;
  }

  get #speed(): Speed {
    return this.speed ?? 'run';
  }

  /** One iteration on or back; where none is under way, a tenth of a second. */
  #step(action: 'back' | 'on', way: 1 | -1, time: number, end: number): TemplateResult {
    const words = this.app.text.say(hero)(`step.${action}`);
    const step = (): void => { this.#scrub(Math.min(end, Math.max(0, time + way * this.#iteration_s))); };
    return html`<button type="button" class="icon" data-action=${`step-${action}`} aria-label=${words} title=${words} @click=${step}>${way < 0 ? '‹' : '›'}</button>`;
  }

  get #iteration_s(): number {
    const moment = this.data.view.value;
    const under_way = moment === null ? 0 : iterationSeconds(moment);
    return under_way > 0 ? under_way : 0.1;
  }

  protected override updated(): void {
    const { follow } = this.app;
    if (this.starts === undefined && follow.value !== null && this.data.view.value !== null && this.isConnected) {
      const { time } = follow.value;
      follow.set(null);
      this.app.cursor.set({ time: Math.max(0, time), chart: OWN });
      if (this.#still.matches) return;
      this.speed = 'true';
      this.app.cursor.set({ time: Math.max(0, time - LEAD_S), chart: OWN });
      this.#play(true);
    }
    if (this.plays && this.data.view.value !== null && this.place.getClientRects().length > 0) {
      this.plays = false;
      if (this.#still.matches || this.app.cursor.value !== null) return;
      this.speed = 'third';
      this.app.cursor.set({ time: Math.max(0, this.data.at.time - RISE_S), chart: OWN });
      this.#play(true);
    }
    if (this.starts !== true || this.data.view.value === null) return;
    this.starts = false;
    if (!this.#still.matches) this.#play(true);
  }

  draw(size: Size): void {
    const moment = this.data.view.value;
    if (moment === null) return;
    this.#layout = this.#canvas.draw(this, size, {
      moment, span: this.data.span, colours: this.app.paper(), byUser: this.#byUser, marked: this.app.view.value.selected?.id ?? null, words: pictureWords(this.app.text, moment),
    }, this.playing === true) ?? this.#layout;
  }

  #markUnder(event: MouseEvent): Mark | null {
    const box = this.place.getBoundingClientRect();
    return this.#layout === null ? null : markAt(this.#layout.marks, event.clientX - box.left, event.clientY - box.top);
  }

  #point(event: PointerEvent): void {
    const mark = this.#markUnder(event);
    const { format } = this.app.text;
    this.place.classList.toggle('over-request', mark !== null);
    this.place.title = mark === null ? '' : this.app.text.say(hero)('mark', {
      id: String(mark.id), prompt: format.whole(mark.prompt_tokens), output: format.whole(mark.output_tokens), user: String(mark.user),
    });
  }

  #pick(event: MouseEvent): void {
    const mark = this.#markUnder(event);
    if (mark !== null) this.picked(mark.id);
  }

  get #byUser(): boolean {
    return (this.app.session.value.answer?.summary.users ?? 1) > 1;
  }

  /** Colours of users, where there are several. */
  #users(): readonly TemplateResult[] {
    const count = this.app.session.value.answer?.summary.users ?? 1;
    if (count <= 1) return [];
    const t = this.app.text.say(hero);
    const named = Array.from({ length: Math.min(count, NAMED_USERS) }, (_, user) => html`<li class="user" data-role=${roleOf(user)}>${signOf(roleOf(user), 'disc')}${t('user', { id: String(user) })}</li>`);
    return count > NAMED_USERS ? [...named, html`<li class="user">…</li>`] : named;
  }

  #sentence(moment: Moment): string {
    const { format } = this.app.text;
    return this.app.text.say(hero)('sentence', {
      time: format.seconds(moment.time_s), held: countAt(moment, 'gateway'), waiting: countAt(moment, 'queue'), running: countAt(moment, 'pool'),
      prefill: moment.places.flatMap(({ phases }) => phases).filter((phase) => phase === 0).length, share: format.share(usedShare(moment)),
    });
  }

  #scrub(time: number): void {
    this.playing = false;
    this.app.cursor.set({ time, chart: OWN });
  }

  /** A step is a hundredth of the run, with Shift a tenth. */
  #key(event: KeyboardEvent, time: number, end: number): void {
    const direction = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (direction === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.#scrub(Math.min(end, Math.max(0, time + direction * end * (event.shiftKey ? 0.1 : 0.01))));
  }

  #leave(): void {
    if (this.playing !== true && this.app.cursor.value?.chart === OWN) this.app.cursor.set(null);
  }

  /** Seconds of the run that are played in one. */
  #perSecond(end: number): number {
    switch (this.#speed) {
      case 'run': return end / PLAYED_IN_S;
      case 'true': return 1;
      case 'third': return 1 / 3;
      case 'tenth': return 0.1;
      case 'iteration': return this.#iteration_s;
    }
  }

  #play(play: boolean): void {
    this.playing = play;
    const { cursor } = this.app;
    const { value } = cursor;
    if (!play) {
      if (value?.plays === true) cursor.set({ time: value.time, chart: OWN });
      return;
    }
    let time = value?.time ?? 0;
    let last: number | null = null;
    const step = (now: number): void => {
      if (this.playing !== true || !this.isConnected) return;
      // Someone points at another time.
      if (cursor.value !== null && cursor.value.chart !== OWN) {
        this.playing = false;
        return;
      }
      // In another tab it is out of sight, and its cursor would move the charts there.
      if (this.place.getClientRects().length === 0) {
        this.playing = false;
        this.#leave();
        return;
      }
      const end = this.data.view.value?.end_s;
      // The button can be pressed before the picture of the run is there.
      if (end !== undefined) {
        if (last === null && time >= end) time = 0;
        time += (last === null ? 0 : (now - last) / 1000) * this.#perSecond(end);
        last = now;
        if (time >= end) this.playing = false;
        cursor.set(time >= end ? null : { time, chart: OWN, plays: true });
      }
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }
}

customElements.define('run-hero', RunHero);

export function runHero(app: App): RunHero {
  const element = new RunHero();
  element.app = app;
  element.data = new HeroData(app, () => { app.scheduler.invalidate(element); });
  return element;
}
