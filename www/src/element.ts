// The base of the page's elements: light DOM (plain CSS, plain selectors), drawn again when a watched topic changes.
import { LitElement } from 'lit';
import type { App } from './app.js';
import type { Watchable } from './state/topic.js';

export abstract class LightElement extends LitElement {
  static override properties: Record<string, object> = { app: { attribute: false } };
  declare app: App;
  #look: string | undefined;
  #unsubscribe: (() => void)[] = [];

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

  override connectedCallback(): void {
    super.connectedCallback();
    const changed = (): void => {
      const look = this.look();
      if (look === undefined || look !== this.#look) this.requestUpdate();
    };
    this.#unsubscribe = [
      ...this.watched().map((topic) => topic.subscribe(changed)),
      this.app.settings.subscribe(() => { this.requestUpdate(); }),
    ];
  }

  protected override willUpdate(): void {
    this.#look = this.look();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }
}
