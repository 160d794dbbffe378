// Which answer is on screen: its digest is told once all its charts are drawn, and the page is ready where nothing newer is wished
// by then. A change between an answer and its frame has begun the next run, which the page is ready with.

export interface OnScreenHooks {
  /** Whether a wish is not answered yet. */
  isBusy(): boolean;
  /** The whole answer with this digest is on screen. */
  shown(digest: string): void;
  /** It is the answer to the last wish. */
  ready(): void;
}

export class OnScreen {
  #undrawn: string | null = null;

  constructor(private readonly hooks: OnScreenHooks) {}

  /** The next frame draws this answer; null where it draws a part of one, a preview or one that is overtaken. */
  draws(digest: string | null): void {
    this.#undrawn = digest;
  }

  /** A frame was drawn. */
  drawn(): void {
    if (this.#undrawn === null) return;
    this.hooks.shown(this.#undrawn);
    this.#undrawn = null;
    if (!this.hooks.isBusy()) this.hooks.ready();
  }
}
