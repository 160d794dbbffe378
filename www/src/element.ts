// The base of the page's elements: light DOM (plain CSS, plain selectors), drawn again when a watched topic changes.
import { LitElement } from 'lit';
import type { App } from './app.js';
import type { Watchable } from './state/topic.js';

export abstract class LightElement extends LitElement {
  static override properties: Record<string, object> = { app: { attribute: false } };
  declare app: App;
  #unsubscribe: (() => void)[] = [];

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  /** The topics whose change draws the element again. */
  protected abstract watched(): Watchable[];

  override connectedCallback(): void {
    super.connectedCallback();
    this.#unsubscribe = [...this.watched(), this.app.settings].map((topic) => topic.subscribe(() => { this.requestUpdate(); }));
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }
}
