// What the picture shows: the service at the cursor's time, or, without a cursor, where the queue is longest.
import type { App } from '../app/app.js';
import type { ChartData, Moment, PlaceKind, Summary } from '../simulation/types.js';
import { OpenQuestion } from '../state/open-question.js';
import { countAt } from './places.js';

/** About how many arrivals the picture shows on their way, and the times that this may be. */
const COMING = 20;
const LEAST_SPAN_S = 0.5;
const MOST_SPAN_S = 120;

export interface Rest { time: number; why: 'longest' | 'fullest' }

export class HeroData extends OpenQuestion<Moment> {
  readonly #page: App;

  /** `drawn`: the picture shall be drawn anew. */
  constructor(app: App, drawn: () => void) {
    super({ session: app.session, scheduler: { invalidateAll: drawn } }, async () => {
      // The charts of a new answer come first.
      if (app.session.value.state === 'running') await new Promise((next) => { requestAnimationFrame(() => { setTimeout(next); }); });
      const { time } = this.at;
      return app.ask({ kind: 'call', call: 'moment', values: [time, spanOf(app.session.value.answer?.summary)] }) as Promise<Moment>;
    }, app.cursor);
    this.#page = app;
  }

  /** The time of the picture, and why it is this one; null: the cursor stands there. */
  get at(): { time: number; why: Rest['why'] | null } {
    const { cursor, session } = this.#page;
    if (cursor.value !== null) return { time: cursor.value.time, why: null };
    return restOf(session.value.answer?.charts.get('running_waiting'));
  }

  /** Requests in all places of a kind at that time; 0 where nothing is known yet. */
  countAt(kind: PlaceKind): number {
    const { value: moment } = this.view;
    return moment === null ? 0 : countAt(moment, kind);
  }

  /** Seconds of arrivals that the picture shows on their way. */
  get span(): number {
    return spanOf(this.#page.session.value.answer?.summary);
  }
}

/** The time at which the queue is longest; of a run without a queue, at which the batch is largest. */
export function restOf(chart: Pick<ChartData, 'series'> | undefined): Rest {
  const crest = (role: string): { time: number; height: number } => {
    const series = chart?.series.find((one) => one.role === role);
    let [time, height] = [0, 0];
    series?.y.forEach((y, index) => { if (y > height) [time, height] = [middle(series.x, index), y]; });
    return { time, height };
  };
  const waiting = crest('waiting');
  // A queue of less than one request is one that empties at once.
  if (waiting.height >= 1) return { time: waiting.time, why: 'longest' };
  return { time: crest('running').time, why: 'fullest' };
}

/** Columns are means over their width. */
function middle(x: Float64Array, index: number): number {
  const [from, to] = [x[index] ?? 0, x[index + 1] ?? x[index] ?? 0];
  return (from + to) / 2;
}

function spanOf(summary: Summary | undefined): number {
  if (summary === undefined || summary.makespan_s <= 0 || summary.requests.offered === 0) return MOST_SPAN_S;
  return Math.min(MOST_SPAN_S, Math.max(LEAST_SPAN_S, (COMING * summary.makespan_s) / summary.requests.offered));
}
