// The scenario as the page holds it: only what differs from the defaults, never changed in place.
import type { Resolved } from '../simulation/resolved.js';
import type { ParameterValue } from '../simulation/types.js';
import { sameValue, sameValues, type Values } from '../simulation/values.js';
import { Topic } from '../lib/topic.js';

/** `null` puts a parameter back to its default. */
export type Edit = Readonly<Record<string, ParameterValue | null>>;
/** Where a change comes from: a parameter's id, or what replaced everything ("preset", "undo", "address"). */
export type Source = string;
export interface Change { before: Values; after: Values; source: Source }

export class Store {
  readonly values: Topic<Values>;
  readonly changes = new Topic<Change | null>(null);
  #resolved: Resolved;
  /** A change is looked at before it is made: the second look costs nothing. */
  #lookedAt: { values: Values; resolved: Resolved } | null = null;

  constructor(values: Values, private readonly resolver: (values: Values) => Resolved) {
    this.#resolved = resolver(values);
    this.values = new Topic<Values>(withoutDefaults(values, this.#resolved));
  }

  /** Every value, defaults included, for the values as they are now. */
  get resolved(): Resolved {
    return this.#resolved;
  }

  /** What `edit` would lead to, without doing it. */
  preview(edit: Edit): { values: Values; resolved: Resolved } {
    const merged: Record<string, ParameterValue> = { ...this.values.value };
    for (const [id, value] of Object.entries(edit)) {
      if (value === null) delete merged[id];
      else merged[id] = value;
    }
    const resolved = this.#resolve(merged);
    return { values: withoutDefaults(merged, resolved), resolved };
  }

  /** What stands at its default may be left out of `values`, so the sameness is looked for without it. */
  #resolve(values: Values): Resolved {
    const last = this.#lookedAt;
    if (last !== null && (sameValues(last.values, values) || sameValues(withoutDefaults(last.values, last.resolved), values))) return last.resolved;
    const resolved = this.resolver(values);
    this.#lookedAt = { values, resolved };
    return resolved;
  }

  edit(edit: Edit, source: Source): void {
    this.replace(this.preview(edit).values, source);
  }

  /** Asks again what the values mean: something beside them has changed. */
  refresh(): void {
    this.#lookedAt = null;
    this.#resolved = this.#resolve(this.values.value);
  }

  replace(values: Values, source: Source): void {
    const before = this.values.value;
    const resolved = this.#resolve(values);
    const after = withoutDefaults(values, resolved);
    if (sameValues(before, after)) return;
    this.#resolved = resolved;
    this.values.set(after);
    this.changes.set({ before, after, source });
  }
}

/** What stands at its default anyway is not held: it follows when the default moves with another setting. */
export function withoutDefaults(values: Values, { defaults }: Resolved): Values {
  return Object.fromEntries(Object.entries(values).filter(([id, value]) => !sameValue(value, defaults[id])));
}
