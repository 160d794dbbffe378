// The rate over time as a line that is drawn with the pointer or moved with the arrow keys. What is drawn becomes the
// points of the scenario's curve, so the address, the terminal and the generated requests have it at once.
import { html, svg, type TemplateResult } from 'lit';
import { LightElement } from '../app/element.js';
import type { Watchable } from '../lib/topic.js';
import { workload } from '../i18n/en/workload.js';

/** Places in time at which a drawn curve has a point. */
const PLACES = 40;
const WIDTH = 600;
const HEIGHT = 120;
/** Multiples of R that the drawing reaches, unless the curve goes higher. */
const TOP = 4;
const STEP = 0.1;

const KIND = 'workload.curve.kind';
const POINTS = 'workload.curve.points';
const FACTOR = 100;

interface Point { time: number; factor: number }
interface Place { place: number; factor: number }

export class CurveDrawing extends LightElement {
  static override properties = { ...LightElement.properties, at: { state: true } };
  /** Place of the keyboard's cursor. */
  declare at: number;
  #last: Place | null = null;

  constructor() {
    super();
    this.at = 0;
  }

  protected override watched(): Watchable[] {
    return [this.app.store.values, this.app.traceFile.info];
  }

  get #duration(): number {
    return Number(this.app.store.resolved.values['workload.duration_s']);
  }

  get #drawn(): boolean {
    return this.app.store.resolved.values[KIND] === 'points';
  }

  get #points(): Point[] {
    const numbers = this.app.store.resolved.values[POINTS];
    if (!this.#drawn || !Array.isArray(numbers)) return [{ time: 0, factor: 1 }, { time: this.#duration, factor: 1 }];
    const points: Point[] = [];
    for (let index = 0; index + 1 < numbers.length; index += 2) points.push({ time: numbers[index] ?? 0, factor: numbers[index + 1] ?? 0 });
    return points;
  }

  get #top(): number {
    return Math.max(TOP, ...this.#points.map(({ factor }) => factor));
  }

  /** The curve's height at each place: straight lines between points, flat beyond them. */
  #grid(): number[] {
    const points = this.#points;
    return Array.from({ length: PLACES + 1 }, (_, place) => heightAt(points, (place / PLACES) * this.#duration));
  }

  protected override render(): TemplateResult {
    const { app } = this;
    const say = app.text.say(workload);
    const { format } = app.text;
    const fromFile = app.traceFile.info.value !== null;
    if (fromFile) return html`<p class="about">${say('draw.file')}</p>`;
    const points = this.#points;
    const top = this.#top;
    const place = ({ time, factor }: Point): string => `${((time / this.#duration) * WIDTH).toFixed(1)},${((1 - factor / top) * HEIGHT).toFixed(1)}`;
    const ends = [{ time: 0, factor: points[0]?.factor ?? 1 }, ...points.filter(({ time }) => time <= this.#duration), { time: this.#duration, factor: heightAt(points, this.#duration) }];
    const rate = Number(app.store.resolved.values['workload.rate_rps']);
    const here = heightAt(points, (this.at / PLACES) * this.#duration);
    const value = say('draw.value', { rate: format.short(rate * here), time: format.seconds((this.at / PLACES) * this.#duration) });
    return html`
      <p class="about">${say('draw.about')}</p>
      <div class="drawing" role="slider" tabindex="0" aria-label=${say('draw.label', { points: points.length })}
        aria-valuemin="0" aria-valuemax=${Math.round(top * FACTOR)} aria-valuenow=${Math.round(here * FACTOR)} aria-valuetext=${value}
        @pointerdown=${this.#press} @pointermove=${this.#move} @pointerup=${this.#release} @pointercancel=${this.#release} @keydown=${this.#key}>
        <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">
          ${svg`<line class="one" x1="0" x2=${WIDTH} y1=${(1 - 1 / top) * HEIGHT} y2=${(1 - 1 / top) * HEIGHT}/>
          <polyline class="curve" points=${ends.map(place).join(' ')}/>
          <line class="here" x1=${(this.at / PLACES) * WIDTH} x2=${(this.at / PLACES) * WIDTH} y1="0" y2=${HEIGHT}/>`}
        </svg>
        <small class="top">${format.withUnit(format.short(rate * top), app.text.unit('req/s'))}</small>
        <small class="end">${format.seconds(this.#duration)}</small>
      </div>
      <p class="drawing-foot"><small>${value}</small>
        <button type="button" class="quiet" ?disabled=${!this.#drawn} @click=${() => { app.touch(KIND); app.store.edit({ [KIND]: 'constant', [POINTS]: null }, KIND); }}>${say('draw.clear')}</button></p>`;
  }

  #set(grid: readonly number[]): void {
    const { app } = this;
    const points = grid.flatMap((factor, place) => [rounded((place / PLACES) * this.#duration, 10), rounded(factor, 100)]);
    app.touch(POINTS);
    app.store.edit({ [KIND]: 'points', [POINTS]: points }, POINTS);
  }

  /** The box is of the element that listens: events that the browser has put together have no such element. */
  #where(event: PointerEvent, box: DOMRect): Place {
    const part = (value: number): number => Math.min(1, Math.max(0, value));
    return {
      place: Math.round(part((event.clientX - box.left) / box.width) * PLACES),
      factor: (1 - part((event.clientY - box.top) / box.height)) * this.#top,
    };
  }

  readonly #press = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    const area = event.currentTarget as HTMLElement;
    area.setPointerCapture(event.pointerId);
    this.#paint([this.#where(event, area.getBoundingClientRect())]);
  };

  /** The browser reports one move a frame: where the pointer was in between is part of what was drawn. */
  readonly #move = (event: PointerEvent): void => {
    if (this.#last === null) return;
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const moves = event.getCoalescedEvents();
    this.#paint((moves.length > 0 ? moves : [event]).map((move) => this.#where(move, box)));
  };

  readonly #release = (): void => { this.#last = null; };

  /** A quick hand skips places: those between two reports lie on a straight line. */
  #paint(way: readonly Place[]): void {
    const grid = this.#grid();
    for (const to of way) {
      const from = this.#last ?? to;
      const steps = Math.abs(to.place - from.place);
      for (let step = 0; step <= steps; step += 1) {
        const part = steps === 0 ? 1 : step / steps;
        grid[Math.round(from.place + (to.place - from.place) * part)] = from.factor + (to.factor - from.factor) * part;
      }
      this.#last = to;
      this.at = to.place;
    }
    this.#set(grid);
  }

  readonly #key = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const by = event.shiftKey ? 5 : 1;
    switch (event.key) {
      case 'ArrowRight': this.at = Math.min(PLACES, this.at + by); break;
      case 'ArrowLeft': this.at = Math.max(0, this.at - by); break;
      case 'ArrowUp': this.#raise(STEP * by); break;
      case 'ArrowDown': this.#raise(-STEP * by); break;
      default: return;
    }
    event.preventDefault();
  };

  #raise(by: number): void {
    const grid = this.#grid();
    grid[this.at] = Math.max(0, (grid[this.at] ?? 1) + by);
    this.#set(grid);
  }
}

function heightAt(points: readonly Point[], time: number): number {
  const next = points.findIndex((point) => point.time >= time);
  const right = points[next];
  const left = points[next - 1];
  if (right === undefined) return points.at(-1)?.factor ?? 1;
  if (left === undefined || right.time === left.time) return right.factor;
  return left.factor + (right.factor - left.factor) * ((time - left.time) / (right.time - left.time));
}

function rounded(value: number, parts: number): number {
  return Math.round(value * parts) / parts;
}

customElements.define('curve-drawing', CurveDrawing);
