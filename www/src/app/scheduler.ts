// One animation frame for the whole page. Only charts that are dirty and in sight are drawn; one that comes into sight
// later is drawn then.

export interface Drawable {
  /** Where it stands on the page. */
  readonly place: HTMLElement;
  /** Of a chart, its name. */
  readonly name?: string;
  /** Whether it asks for data of its own after a run, and is drawn when they are there. */
  readonly asks?: boolean;
  /** `size`: of the place, as of the last layout; asking the place itself would have the page laid out once more. */
  draw(size: Size): void;
}

/** CSS pixels, borders left out. */
export interface Size { width: number; height: number }

/** `size` and `visible` are known once the observers have reported. */
interface Entry { drawable: Drawable; visible: boolean; observed: boolean; size: Size | null; dirty: boolean }

/** Room outside the window in which a chart counts as seen: scrolling finds it drawn. */
const MARGIN = '200px';

export class Scheduler {
  readonly #entries = new Map<Element, Entry>();
  readonly #sight: IntersectionObserver;
  readonly #sizes: ResizeObserver;
  #frame = 0;

  /** `drawn` hears how long the script of a frame's drawing took. */
  constructor(private readonly drawn: (script_ms: number) => void) {
    this.#sight = new IntersectionObserver((changes) => {
      for (const { target, isIntersecting } of changes) {
        const entry = this.#entries.get(target);
        if (entry === undefined) continue;
        entry.visible = isIntersecting;
        entry.observed = true;
        if (entry.dirty) this.#request();
      }
    }, { rootMargin: MARGIN });
    this.#sizes = new ResizeObserver((changes) => {
      for (const { target } of changes) {
        const entry = this.#entries.get(target);
        if (entry === undefined) continue;
        const { clientWidth: width, clientHeight: height } = entry.drawable.place;
        entry.size = { width, height };
        this.#soil(entry);
      }
    });
    this.#watchDensity();
  }

  add(drawable: Drawable): void {
    this.#entries.set(drawable.place, { drawable, visible: false, observed: false, size: null, dirty: true });
    this.#sight.observe(drawable.place);
    this.#sizes.observe(drawable.place);
  }

  remove(drawable: Drawable): void {
    this.#entries.delete(drawable.place);
    this.#sight.unobserve(drawable.place);
    this.#sizes.unobserve(drawable.place);
  }

  invalidate(drawable: Drawable): void {
    this.#soil(this.#entries.get(drawable.place));
  }

  invalidateAll(): void {
    for (const entry of this.#entries.values()) entry.dirty = true;
    this.#request();
  }

  /** What is drawn from a run's answer. */
  invalidateAnswered(): void {
    for (const entry of this.#entries.values()) entry.dirty ||= entry.drawable.asks !== true;
    this.#request();
  }

  /** These charts, and no others. */
  invalidateNamed(names: ReadonlySet<string>): void {
    for (const entry of this.#entries.values()) {
      if (entry.drawable.name !== undefined && names.has(entry.drawable.name)) entry.dirty = true;
    }
    this.#request();
  }

  /** At once, wherever they stand: for a print. */
  drawAll(): void {
    for (const entry of this.#entries.values()) {
      const { clientWidth: width, clientHeight: height } = entry.drawable.place;
      entry.drawable.draw({ width, height });
    }
  }

  /** Names of the charts in sight; null before anybody knows. */
  inSight(): string[] | null {
    const entries = [...this.#entries.values()];
    if (entries.length === 0 || entries.some((entry) => !entry.observed)) return null;
    return entries.flatMap(({ drawable, visible }) => (visible ? (drawable.name ?? []) : []));
  }

  #soil(entry: Entry | undefined): void {
    if (entry === undefined) return;
    entry.dirty = true;
    this.#request();
  }

  #request(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => { this.#paint(); });
  }

  #paint(): void {
    this.#frame = 0;
    const entries = [...this.#entries.values()];
    // Before the first report of the observer it is unknown what is in sight; the report asks for the next frame. What is folded
    // away has no size until it is opened.
    if (entries.some((entry) => !entry.observed || (entry.visible && entry.size === null))) return;
    const from = performance.now();
    for (const entry of entries) {
      if (!entry.dirty || !entry.visible || entry.size === null) continue;
      entry.dirty = false;
      entry.drawable.draw(entry.size);
    }
    this.drawn(performance.now() - from);
  }

  /** A window moved to another screen, or a zoomed page, has other device pixels. */
  #watchDensity(): void {
    const query = matchMedia(`(resolution: ${String(devicePixelRatio)}dppx)`);
    query.addEventListener('change', () => {
      this.invalidateAll();
      this.#watchDensity();
    }, { once: true });
  }
}
