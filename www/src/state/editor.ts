// Changing the scenario: what may be taken over, what stays a draft beside its control, and the way back.
import type { Resolved } from '../simulation/resolved.js';
import type { Diagnostic, ParameterValue } from '../simulation/types.js';
import { History } from './history.js';
import { Store, type Source } from './store.js';
import { sameValue, type Values } from '../simulation/values.js';
import { Topic } from '../lib/topic.js';

export interface Draft { value: ParameterValue; error: Diagnostic }

export class Editor {
  readonly store: Store;
  readonly history = new History();
  /** Values that were typed and cannot be used, by parameter; the scenario keeps its former value. */
  readonly drafts = new Topic<ReadonlyMap<string, Draft>>(new Map());

  /** `touch` hears which control is taken in hand before anything changes. */
  constructor(values: Values, resolve: (values: Values) => Resolved, private readonly touch: (control: string) => void) {
    this.store = new Store(values, resolve);
    this.store.changes.subscribe((change) => {
      if (change !== null && change.source !== 'history') this.history.record(change);
    });
  }

  /** Sets one parameter, or puts it back with `null`; a value that cannot be used is kept beside the control. */
  set(id: string, value: ParameterValue | null): void {
    this.touch(id);
    const meant = value === null ? null : this.#meant(id, value);
    const error = value === null || meant === null ? undefined : this.#objection(id, value) ?? this.#objection(id, meant);
    this.#draft(id, error === undefined || value === null ? null : { value, error });
    if (error === undefined) this.store.edit({ [id]: meant }, id);
  }

  reject(id: string, draft: Draft): void {
    this.#draft(id, draft);
  }

  /** Lets go of what was typed. */
  forget(id: string): void {
    this.#draft(id, null);
  }

  replace(values: Values, source: Source): void {
    this.touch(`${source} ${String(performance.now())}`);
    this.drafts.set(new Map());
    this.store.replace(values, source);
  }

  undo(): void {
    const values = this.history.undo();
    if (values !== null) this.replace(values, 'history');
  }

  redo(): void {
    const values = this.history.redo();
    if (values !== null) this.replace(values, 'history');
  }

  /** What is wrong with the parameter: what was typed, or what the scenario says. */
  problem(id: string): Diagnostic | undefined {
    const { problems } = this.store.resolved;
    return this.drafts.value.get(id)?.error ?? (problems.length === 0 ? undefined : problems.find((problem) => problem.path === id));
  }

  isChanged(id: string): boolean {
    return !sameValue(this.store.resolved.values[id], this.store.resolved.defaults[id]);
  }

  /** Why `value` cannot be run. A choice may leave the scenario incomplete for a moment; a number may not. */
  #objection(id: string, value: ParameterValue): Diagnostic | undefined {
    const { problems } = this.store.preview({ [id]: value }).resolved;
    const own = problems.find((problem) => problem.path === id);
    if (own !== undefined || typeof value === 'string' || typeof value === 'boolean') return own;
    const known = this.store.resolved.problems;
    return problems.find((problem) => !known.some(({ code, path }) => code === problem.code && path === problem.path));
  }

  /** The value as the module reads it: a number with a unit becomes one in the parameter's own. */
  #meant(id: string, value: ParameterValue): ParameterValue {
    return typeof value === 'string' ? this.store.preview({ [id]: value }).resolved.values[id] ?? value : value;
  }

  #draft(id: string, draft: Draft | null): void {
    if (draft === null && !this.drafts.value.has(id)) return;
    const drafts = new Map(this.drafts.value);
    if (draft === null) drafts.delete(id);
    else drafts.set(id, draft);
    this.drafts.set(drafts);
  }
}
