// Which settings the shown result is of, and whether these are the ones in the controls. Whatever depends on that (the bar
// above the results, their greying, exports, changes of numbers, the document's data-stale) reads it here.
import type { Diagnostic } from '../simulation/types.js';
import type { Draft } from './editor.js';
import { sameValues, type Values } from '../simulation/values.js';
import { Topic } from '../lib/topic.js';
import type { Traffic } from './traffic.js';

export interface Setting {
  values: Values;
  traffic: Traffic;
  /** The file that a link names and that is not open. */
  missing: string | null;
  /** What was typed and cannot be run: of no result. */
  drafts: ReadonlyMap<string, Draft>;
}

export type Reason = 'failed' | 'cancelled' | 'file';

/** Why the settings in the controls have no result. */
export interface Stale {
  reason: Reason;
  errors: readonly Diagnostic[];
  missing: string | null;
  /** What is shown instead; null where nothing is. */
  shown: Setting | null;
}

type Why = Pick<Stale, 'reason' | 'errors'>;

export class Belonging {
  readonly stale = new Topic<Stale | null>(null);
  #shown: { setting: Setting; whole: boolean } | null = null;
  #running = true;
  #why: Why = { reason: 'cancelled', errors: [] };

  constructor(private readonly now: () => Setting) {}

  /** The settings of the shown result, or of its preview. */
  get shown(): Setting | null {
    return this.#shown?.setting ?? null;
  }

  /** What is shown is the whole result of the settings in the controls. */
  get agrees(): boolean {
    return this.#shown !== null && this.#shown.whole && sameSetting(this.#shown.setting, this.now());
  }

  began(): void {
    this.#running = true;
    this.look();
  }

  /** `last` is false when a run of newer settings is on its way. */
  answered(setting: Setting, whole: boolean, last: boolean): void {
    this.#shown = { setting, whole };
    if (whole && last) this.#running = false;
    this.look();
  }

  /** The run gave no result; `back` is what is shown from now on, where that is another result than before. */
  ended(reason: Reason, errors: readonly Diagnostic[] = [], back: Setting | null = null): void {
    this.#running = false;
    this.#why = { reason, errors };
    if (back !== null) this.#shown = { setting: back, whole: true };
    this.look();
  }

  /** Something in the controls has changed that starts no run. */
  look(): void {
    const now = this.now();
    const shown = this.#shown;
    const typed = [...now.drafts.values()].map(({ error }) => error);
    if (shown !== null && (shown.whole || this.#running) && sameSetting(shown.setting, now)) this.stale.set(null);
    // Until the next run ends, what was said stays: a control that is dragged would make it come and go.
    else if (!this.#running || typed.length > 0) {
      const { reason, errors }: Why = typed.length > 0 ? { reason: 'failed', errors: typed } : this.#why;
      this.stale.set({ reason: now.missing === null ? reason : 'file', errors, missing: now.missing, shown: this.shown });
    }
  }
}

export function sameSetting(one: Setting, other: Setting): boolean {
  return one.missing === other.missing && one.drafts.size === 0 && other.drafts.size === 0 && one.traffic.info === other.traffic.info && sameValues(one.values, other.values);
}
