// The first request that two runs of the same requests treat differently: its moment is marked on the charts of both.
import type { App } from '../app/app.js';
import { inputsOf, sharedPool } from '../pool/shared-pool.js';
import type { Given } from '../pool/worker-pool.js';
import type { ComparedPair } from '../simulation/types.js';
import { Cancelled, Refusal } from '../simulation/worker-link.js';
import { sameValue, sameValues, type Values } from '../simulation/values.js';
import { Topic } from '../lib/topic.js';
import type { ChartMark } from '../draw/chart-feed.js';

/** A drag goes on before this. */
const SETTLE_MS = 300;

/** The mark of what a comparison found. */
export function markOf({ text }: App, first: ComparedPair['first_difference']): ChartMark | null {
  if (first === null) return null;
  const request = first.a?.request ?? first.b?.request ?? null;
  const time = text.format.seconds(first.time_s);
  return { x: first.time_s, request, words: request === null ? text.t('chart.first_difference', { time }) : text.t('chart.first_difference.request', { id: String(request), time }) };
}

/** Whether two settings send different requests. */
function differ(a: Values, b: Values): boolean {
  const ofTraffic = (path: string): boolean => path.startsWith('workload.') || path === 'seed';
  return [...Object.keys(a), ...Object.keys(b)].some((path) => ofTraffic(path) && !sameValue(a[path], b[path]));
}

export class FirstDifference {
  /** What the two runs that were asked about last differ in; null until it is known, or where they do not differ. */
  readonly found = new Topic<ComparedPair['first_difference']>(null);
  #asked: { a: Values; b: Values } | null = null;
  #settling: ReturnType<typeof setTimeout> | undefined;
  #given: Given<unknown> | null = null;

  constructor(private readonly app: App) {}

  get mark(): ChartMark | null {
    return markOf(this.app, this.found.value);
  }

  look(a: Values, b: Values): void {
    if (this.#asked !== null && sameValues(this.#asked.a, a) && sameValues(this.#asked.b, b)) return;
    this.end();
    const asked = this.#asked = { a, b };
    if (differ(a, b)) return;
    this.#settling = setTimeout(() => { void this.#ask(asked); }, SETTLE_MS);
  }

  end(): void {
    clearTimeout(this.#settling);
    this.#given?.cancel();
    this.#given = null;
    this.#asked = null;
    this.found.set(null);
  }

  async #ask(asked: { a: Values; b: Values }): Promise<void> {
    try {
      const inputs = await inputsOf(this.app);
      if (this.#asked !== asked) return;
      const given = sharedPool().give({ kind: 'pair', ...asked, seed: Number(this.app.store.resolved.values['seed'] ?? 0) }, { priority: 'asked', inputs });
      this.#given = given;
      const { first_difference } = await given.done;
      if (this.#asked === asked) this.found.set(first_difference);
    } catch (thrown) {
      // Runs that cannot be simulated have their own message.
      if (!(thrown instanceof Cancelled) && !(thrown instanceof Refusal)) throw thrown;
    }
  }
}
