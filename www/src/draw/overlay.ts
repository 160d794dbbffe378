// What lies over a chart's canvas: the cursor line, the read-out beside it, the brush, the ring of the picked request.
// All of it moves by the object model; the canvas is not drawn again.
import { render } from 'lit';
import type { ChartData } from '../simulation/types.js';
import { PointUsers } from './point-users.js';
import { insideX, nearestPoint, xToPixel, yToPixel } from './plot.js';
import type { ShownChart } from './shown-chart.js';
import { readOutAt, readOutBox, readOutOfPoint, readOutSentence, type ReadOut } from './read-out.js';

const BESIDE = 10;
const SPEAK_AFTER_MS = 300;

export class Overlay {
  /** Position in data units on a chart whose axis is its own; time charts share a clock. */
  own: number | null = null;
  readonly #line: HTMLElement;
  readonly #box: HTMLElement;
  readonly #brush: HTMLElement;
  readonly #ring: HTMLElement;
  readonly #end: HTMLElement;
  readonly #mark: HTMLElement;
  readonly #users: PointUsers;
  #speaking: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly view: ShownChart) {
    this.#users = new PointUsers(view.app, () => { this.update(); });
    const part = (selector: string): HTMLElement => {
      const element = view.querySelector<HTMLElement>(selector);
      if (element === null) throw new Error(`no ${selector}`);
      return element;
    };
    this.#line = part('.cursor-line');
    this.#box = part('.read-out');
    this.#brush = part('.brush');
    this.#ring = part('.picked');
    this.#end = part('.traffic-end');
    this.#mark = part('.marked-moment');
  }

  /** Where the cursor stands in this chart's data units, or null. */
  get x(): number | null {
    const { chart, clock } = this.view;
    return chart?.x.kind === 'time' ? (clock.value?.time ?? null) : this.own;
  }

  update(): void {
    this.#updateRing();
    this.#updateEnd();
    this.#updateMark();
    const { chart, frame } = this.view;
    const { x } = this;
    const shown = chart !== undefined && frame !== null && x !== null && insideX(frame, x) && chart.empty === '';
    hide(this.#line, !shown);
    hide(this.#box, !shown);
    if (!shown) return;
    const pixel = xToPixel(frame, chart.x, x);
    place(this.#line, { left: pixel, top: frame.top, height: frame.bottom - frame.top });
    const roleName = (role: string): string => this.view.source.role(chart.name, role);
    const { app: { text }, clock: { value: cursor }, source } = this.view;
    const inHand = chart.x.kind !== 'time' || cursor?.chart === this.view.name;
    // A box that moves with the picture would cover what it reads.
    const isQuiet = !inHand && (source.readsOnHover === true || cursor?.plays === true);
    hide(this.#box, isQuiet);
    if (isQuiet) return;
    // Keys move along the axis only.
    const near = this.view.near ?? (source.point === undefined ? null : nearestPoint(chart, frame, pixel, null, Infinity));
    const readOut = near === null ? readOutAt(text, chart, x, roleName) : (source.point?.(this.view.name, near.id) ?? readOutOfPoint(text, chart, near, (role) => this.#userOf(near) ?? roleName(role)));
    render(readOutBox(readOut, inHand), this.#box);
    const { offsetWidth: width } = this.#box;
    const fits = pixel + BESIDE + width <= frame.right;
    place(this.#box, { left: Math.max(0, fits ? pixel + BESIDE : pixel - BESIDE - width), top: frame.top });
    if (inHand && document.activeElement === this.view.place) this.#speak(readOut, (pixel - frame.left) / (frame.right - frame.left));
  }

  /** The user of a point in the page's scatter whose series is that of many users. */
  #userOf({ id, role }: { id: number; role: string }): string | null {
    const { app, name } = this.view;
    const isOfMany = name === 'ttft_by_arrival' && role === 'ttft' && (app.session.value.answer?.summary.users ?? 1) > 1;
    const user = isOfMany ? this.#users.user(id) : null;
    return user === null ? null : app.text.t('role.user', { id: String(user) });
  }

  brush(from: number, to: number): void {
    const { frame } = this.view;
    if (frame === null) return;
    this.#brush.hidden = false;
    const left = Math.max(frame.left, Math.min(from, to));
    const right = Math.min(frame.right, Math.max(from, to));
    place(this.#brush, { left, top: frame.top, width: right - left, height: frame.bottom - frame.top });
  }

  endBrush(): void {
    this.#brush.hidden = true;
  }

  /** Where the last request arrives; what follows is the drain. */
  #updateEnd(): void {
    const { chart, frame, app, source } = this.view;
    const end = app.session.value.answer?.trafficEnd ?? null;
    const out = chart?.x.kind !== 'time' || source.of !== 'run' || frame === null || end === null || end <= frame.x_min || end >= frame.x_max;
    hide(this.#end, out);
    if (out || chart === undefined || frame === null || end === null) return;
    place(this.#end, { left: xToPixel(frame, chart.x, end), top: frame.top, height: frame.bottom - frame.top });
  }

  /** A line at its time, or a ring around its request's point; beside the axis where the time is not shown, an arrow to it. */
  #updateMark(): void {
    const { chart, frame, source } = this.view;
    const mark = source.mark?.() ?? null;
    const isTime = chart?.x.kind === 'time';
    const point = chart === undefined || mark === null || isTime ? null : pointOf(chart, mark.request);
    const out = frame === null || mark === null || (!isTime && point === null);
    hide(this.#mark, out);
    if (out || chart === undefined || frame === null || mark === null) return;
    const [before, after] = isTime ? [mark.x < frame.x_min, mark.x > frame.x_max] : [false, false];
    const words = before ? `← ${mark.words}` : after ? `${mark.words} →` : mark.words;
    if (this.#mark.dataset['words'] !== words) this.#mark.dataset['words'] = words;
    this.#mark.classList.toggle('outside', before || after);
    this.#mark.classList.toggle('ring', point !== null);
    if (point !== null) {
      place(this.#mark, { left: xToPixel(frame, chart.x, point.x), top: yToPixel(frame, chart.y, point.y), height: 0 });
      return;
    }
    const left = xToPixel(frame, chart.x, Math.min(frame.x_max, Math.max(frame.x_min, mark.x)));
    this.#mark.classList.toggle('before', left > (frame.left + frame.right) / 2);
    place(this.#mark, { left, top: frame.top, height: frame.bottom - frame.top });
  }

  #updateRing(): void {
    const { chart, frame, app } = this.view;
    const { selected } = app.view.value;
    const isTime = chart?.x.kind === 'time';
    const out = !isTime || !this.view.source.zooms || frame === null || selected === null || !insideX(frame, selected.arrival_s);
    hide(this.#ring, out);
    if (out || chart === undefined || frame === null || selected === null) return;
    const waited = selected.first_token_s === null ? null : selected.first_token_s - selected.arrival_s;
    const onPoint = this.view.name === 'ttft_by_arrival' && waited !== null && waited >= frame.y_min;
    const left = xToPixel(frame, chart.x, selected.arrival_s);
    this.#ring.classList.toggle('ring', onPoint);
    if (onPoint) place(this.#ring, { left, top: yToPixel(frame, chart.y, Math.min(waited, frame.y_max)), height: 0 });
    else place(this.#ring, { left, top: frame.top, height: frame.bottom - frame.top });
  }

  /** After a pause: while an arrow key is held, only the last place is wanted. */
  #speak(readOut: ReadOut, share: number): void {
    clearTimeout(this.#speaking);
    this.#speaking = setTimeout(() => {
      const { place: plot } = this.view;
      plot.setAttribute('aria-valuenow', (100 * share).toFixed(1));
      plot.setAttribute('aria-valuetext', readOutSentence(readOut));
    }, SPEAK_AFTER_MS);
  }
}

/** Where a scatter has the point of a request. */
function pointOf({ series }: ChartData, request: number | null): { x: number; y: number } | null {
  for (const { id, x, y } of series) {
    const place = request === null ? -1 : id.indexOf(request);
    if (place >= 0) return { x: x[place] ?? 0, y: y[place] ?? 0 };
  }
  return null;
}

/** Nothing is written where it stands: every drawn chart asks this, and a written attribute costs its style. */
function hide(element: HTMLElement, hidden: boolean): void {
  if (element.hidden !== hidden) element.hidden = hidden;
}

function place(element: HTMLElement, box: { left: number; top: number; width?: number; height?: number }): void {
  for (const [side, length] of Object.entries(box)) element.style.setProperty(side, `${length.toFixed(1)}px`);
}
