// The runs of the essay's figures, in one thread: one is computed at a time, that of the figure in view first. The last run of each figure
// is kept there, for questions about its moments.
import type { Beside, BesideAnswer, BesideMoment } from '../simulation/beside-worker.js';
import { besideWorker } from '../simulation/beside-run.js';
import { start } from '../simulation/start.js';
import { NEEDS_NETWORK, type ChartData, type Diagnostic, type Moment, type RunOptions, type Summary } from '../simulation/types.js';
import type { Values } from '../simulation/values.js';
import { Cancelled, Refusal, WorkerLink } from '../simulation/worker-link.js';

/** The columns of its charts are narrower than the page's. */
const COLUMNS = 300;
/** Other runs are kept nowhere: only their summary is asked for. */
const OTHERS = -1;

export interface FigureAnswer { values: Values; main: Summary; beside: Summary | null; charts: readonly ChartData[] }

export interface Wish {
  /** The figure's place: its next wish takes the place of this one. */
  slot: number;
  values: Values;
  beside: Values | null;
  charts: readonly string[];
  answered: (answer: FigureAnswer) => void;
  failed: (errors: readonly Diagnostic[]) => void;
}

export class FigureRuns {
  readonly #link: WorkerLink;
  readonly #wishes = new Map<number, Wish>();
  /** By settings: another run of a figure mostly stays the same while its controls move. */
  readonly #others = new Map<string, Summary>();
  #first = 0;
  #serving = false;

  constructor(spawn = besideWorker) {
    this.#link = new WorkerLink(spawn, { first: () => [start()] });
  }

  /** The figure whose wishes come first. */
  set first(slot: number) {
    this.#first = slot;
  }

  want(wish: Wish): void {
    this.#wishes.set(wish.slot, wish);
    if (!this.#serving) void this.#serve();
  }

  /** The service at one time of a figure's last run; null where that run is gone, or another one of the figure is under way. */
  async moment(slot: number, time_s: number, span_s: number): Promise<Moment | null> {
    try {
      return await this.#link.ask({ kind: 'moment', slot, time_s, span_s } satisfies BesideMoment) as Moment;
    } catch (thrown) {
      if (thrown instanceof Cancelled || thrown instanceof Refusal) return null;
      throw thrown;
    }
  }

  /** Ends the thread, and with it all runs; the next wish starts another one. */
  end(): void {
    this.#wishes.clear();
    this.#link.end(new Cancelled());
  }

  async #serve(): Promise<void> {
    this.#serving = true;
    for (let wish = this.#next; wish !== undefined; wish = this.#next) await this.#answer(wish);
    this.#serving = false;
  }

  get #next(): Wish | undefined {
    return this.#wishes.get(this.#first) ?? this.#wishes.values().next().value;
  }

  async #answer(wish: Wish): Promise<void> {
    const isWanted = (): boolean => this.#wishes.get(wish.slot) === wish;
    try {
      const beside = wish.beside === null ? null : await this.#other(wish.beside);
      if (!isWanted()) return;
      const { summary: main, charts } = await this.#ask(wish.slot, wish.values, wish.charts);
      if (!isWanted()) return;
      this.#wishes.delete(wish.slot);
      wish.answered({ values: wish.values, main, beside, charts });
    } catch (thrown) {
      if (!(thrown instanceof Cancelled || thrown instanceof Refusal)) throw thrown;
      if (!isWanted()) return;
      this.#wishes.delete(wish.slot);
      if (thrown instanceof Refusal) wish.failed(thrown.errors);
    }
  }

  async #other(values: Values): Promise<Summary> {
    const name = JSON.stringify(values);
    const known = this.#others.get(name) ?? (await this.#ask(OTHERS, values, [])).summary;
    this.#others.set(name, known);
    return known;
  }

  #ask(slot: number, scenario: Values, charts: readonly string[]): Promise<BesideAnswer> {
    const options: RunOptions = { columns: COLUMNS, window: null, split_by: 'adapter', in_sight: [...charts] };
    return this.#link.ask({ kind: 'beside', scenario, options, slot } satisfies Beside) as Promise<BesideAnswer>;
  }
}

/** Whether a network that is back may mend it. */
export function mayMend(errors: readonly Diagnostic[]): boolean {
  return errors.some(({ code }) => NEEDS_NETWORK.includes(code));
}
