// The base of the page's elements: light DOM (plain CSS, plain selectors), drawn again when a watched topic changes.
import { LitElement } from 'lit';
import type { App } from './app.js';
import type { Watchable } from '../lib/topic.js';

export abstract class LightElement extends LitElement {
  static override properties: Record<string, object> = { app: { attribute: false } };
  declare app: App;
  #look: string | undefined;
  #unsubscribe: (() => void)[] = [];
  /** An update was put off while it was folded away. */
  #isBehind = false;
  #catchesUp = false;

  /** An element of this class for `app`, with the state that is its own. */
  static of<Made extends LightElement>(this: new () => Made, app: App, own: Partial<Made> = {}): Made {
    return Object.assign(new this(), { app }, own);
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  /** The topics whose change may draw the element again. */
  protected abstract watched(): Watchable[];

  /** What the element would show, in short; it is drawn again when this differs. Undefined: whenever a topic changes. */
  protected look(): string | undefined {
    return undefined;
  }

  /** Whether it is folded away; what changes then is drawn when the page is idle. */
  protected get isFolded(): boolean {
    return false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    const changed = (): void => {
      if (this.isFolded) this.app.folded.add(this);
      else this.#lookAgain();
    };
    this.#unsubscribe = [
      ...this.watched().map((topic) => topic.subscribe(changed)),
      this.app.settings.subscribe(() => { this.requestUpdate(); }),
    ];
  }

  #lookAgain(): void {
    const look = this.look();
    if (look === undefined || look !== this.#look) this.requestUpdate();
  }

  /** Draws what was put off. */
  catchUp(): void {
    if (!this.isConnected) return;
    this.#catchesUp = true;
    if (this.#isBehind) this.requestUpdate();
    else this.#lookAgain();
    if (!this.isUpdatePending) this.#catchesUp = false;
  }

  protected override shouldUpdate(): boolean {
    this.#isBehind = this.isFolded && !this.#catchesUp;
    this.#catchesUp = false;
    if (this.#isBehind) this.app.folded.add(this);
    return !this.#isBehind;
  }

  protected override willUpdate(): void {
    this.#look = this.look();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }
}
