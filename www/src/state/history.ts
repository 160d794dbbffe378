// Undo and redo. A drag is one step: changes of one control that follow each other within half a second are merged.
import type { Change, Source } from './store.js';
import type { Values } from '../simulation/values.js';
import { Topic } from '../lib/topic.js';

const COALESCE_MS = 500;
const DEPTH = 200;

interface Step { before: Values; after: Values; source: Source; at: number }

export class History {
  readonly #done: Step[] = [];
  #undone: Step[] = [];
  readonly reach = new Topic({ undo: false, redo: false });

  constructor(private readonly now: () => number = () => performance.now()) {}

  record({ before, after, source }: Change): void {
    const at = this.now();
    const last = this.#done.at(-1);
    if (last?.source === source && at - last.at < COALESCE_MS && this.#undone.length === 0) {
      last.after = after;
      last.at = at;
    } else {
      this.#done.push({ before, after, source, at });
      if (this.#done.length > DEPTH) this.#done.shift();
    }
    this.#undone = [];
    this.#tell();
  }

  undo(): Values | null {
    const step = this.#done.pop();
    if (step === undefined) return null;
    this.#undone.push(step);
    this.#tell();
    return step.before;
  }

  redo(): Values | null {
    const step = this.#undone.pop();
    if (step === undefined) return null;
    // A step that was walked back and forth is finished: the next change of its control starts a new one.
    this.#done.push({ ...step, at: -Infinity });
    this.#tell();
    return step.after;
  }

  #tell(): void {
    this.reach.set({ undo: this.#done.length > 0, redo: this.#undone.length > 0 });
  }
}
