// Pointer and keys over a chart: move the cursor, brush to zoom, pick a request.
import type { Overlay } from './overlay.js';
import { nearestPoint, pixelToX, xToPixel } from './plot.js';
import type { ShownChart } from './shown-chart.js';

/** A press that moves less than this is a click. */
const DRAG_PX = 5;
const REACH_PX = 20;
const KEY_PX = 2;
const KEY_COARSE_PX = 20;

export class PlotInput {
  #pressedAt: number | null = null;
  #brushing = false;

  constructor(private readonly view: ShownChart, private readonly overlay: Overlay) {
    const plot = view.place;
    plot.addEventListener('pointermove', (event) => { this.#move(event); });
    plot.addEventListener('pointerdown', (event) => { this.#press(event); });
    plot.addEventListener('pointerup', (event) => { this.#release(event); });
    plot.addEventListener('pointercancel', () => { this.#letGo(); });
    plot.addEventListener('pointerleave', () => { view.near = null; if (!this.#brushing) this.#setCursor(null); });
    plot.addEventListener('dblclick', () => { view.resetZoom(); });
    plot.addEventListener('keydown', (event) => { this.#key(event); });
    plot.addEventListener('blur', () => { this.#setCursor(null); });
  }

  get #isTime(): boolean {
    return this.view.chart?.x.kind === 'time';
  }

  #pixel(event: PointerEvent): { x: number; y: number } {
    const box = this.view.place.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  #setCursor(pixel: number | null): void {
    const { chart, frame, clock, name } = this.view;
    const x = pixel === null || chart === undefined || frame === null ? null : pixelToX(frame, chart.x, pixel);
    if (this.#isTime) clock.set(x === null ? null : { time: x, chart: name });
    else {
      this.overlay.own = x;
      this.overlay.update();
    }
  }

  #move(event: PointerEvent): void {
    const { x, y } = this.#pixel(event);
    this.#point(x, y);
    if (this.#pressedAt !== null && this.#isTime && this.view.source.zooms && (this.#brushing || Math.abs(x - this.#pressedAt) > DRAG_PX)) {
      this.#brushing = true;
      this.overlay.brush(this.#pressedAt, x);
    }
    this.#setCursor(x);
  }

  /** The point under the pointer is read out, not the column. */
  #point(x: number, y: number): void {
    const { chart, frame } = this.view;
    this.view.near = chart === undefined || frame === null ? null : nearestPoint(chart, frame, x, y, this.#reach);
  }

  get #reach(): number {
    return this.view.source.point === undefined ? REACH_PX : Infinity;
  }

  #press(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.#pressedAt = this.#pixel(event).x;
    this.view.place.setPointerCapture(event.pointerId);
  }

  #release(event: PointerEvent): void {
    const { x, y } = this.#pixel(event);
    const { chart, frame, app } = this.view;
    const from = this.#pressedAt;
    const brushed = this.#brushing;
    this.#letGo();
    if (from === null || chart === undefined || frame === null) return;
    if (brushed) {
      const [start, end] = [pixelToX(frame, chart.x, Math.min(from, x)), pixelToX(frame, chart.x, Math.max(from, x))];
      if (end > start) void app.look({ window: [start, end] });
    } else {
      this.#pick(x, y);
    }
  }

  #letGo(): void {
    this.#pressedAt = null;
    this.#brushing = false;
    this.overlay.endBrush();
  }

  #pick(x: number, y: number | null): void {
    const { chart, frame, app, source, name } = this.view;
    if (chart === undefined || frame === null) return;
    const point = nearestPoint(chart, frame, x, y, y === null ? Infinity : this.#reach);
    if (point === null) return;
    if (source.pick === undefined) void app.select(point.id);
    else source.pick(name, point.id);
  }

  #key(event: KeyboardEvent): void {
    this.view.near = null;
    const { chart, frame } = this.view;
    if (chart === undefined || frame === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = this.overlay.x;
    const here = at === null ? frame.left : xToPixel(frame, chart.x, at);
    const by = event.shiftKey ? KEY_COARSE_PX : KEY_PX;
    switch (event.key) {
      case 'ArrowRight': this.#setCursor(Math.min(frame.right, here + by)); break;
      case 'ArrowLeft': this.#setCursor(Math.max(frame.left, here - by)); break;
      case 'Home': this.#setCursor(frame.left); break;
      case 'End': this.#setCursor(frame.right); break;
      case 'Enter': this.#pick(here, null); break;
      case 'Escape': this.view.resetZoom(); this.#setCursor(null); break;
      default: return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
