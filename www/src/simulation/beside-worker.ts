// A thread that simulates other scenarios beside the page's own: the other column of a story, the other run of a lesson, the figures of
// the essay.
import { Simulator } from '../../pkg/servescope.js';
import { readMessages } from './pause.js';
import { buffersOf } from './protocol.js';
import { begin, tables } from './simulating.js';
import type { Start } from './start.js';
import { isCallErrors, messageOf, type ChartData, type Moment, type RunOptions, type ScenarioPatch, type Summary } from './types.js';
import type { Reply } from './worker-link.js';

/** A run with the charts that its options name as in sight. */
export interface Beside { kind: 'beside'; scenario: ScenarioPatch; options: RunOptions; /** Which of several runs that are kept for questions; the one where it is left out. */ slot?: number }
/** A time of a run that is kept; `span_s`: seconds of arrivals that are on their way. */
export interface BesideMoment { kind: 'moment'; slot: number; time_s: number; span_s: number }
export interface BesideAnswer { summary: Summary; charts: ChartData[] }
export type ToBeside = Start | ((Beside | BesideMoment) & { ticket: number });

function post(message: Reply<BesideAnswer | Moment>, transfer: Transferable[] = []): void {
  self.postMessage(message, { transfer });
}

let ready = Promise.resolve();
const simulators = new Map<number, Simulator>();
/** The run that is wanted; an older one ends at its next slice. */
let wanted = 0;

/** The answer; null when another run is wanted meanwhile. */
async function simulate({ ticket, scenario, options, slot = 0 }: Beside & { ticket: number }): Promise<BesideAnswer | null> {
  await ready;
  if (wanted !== ticket) return null;
  const simulator = simulators.get(slot) ?? new Simulator();
  simulators.set(slot, simulator);
  const begun = await tables.have(() => { simulator.begin(scenario); }, () => wanted === ticket);
  if (!begun) return null;
  while (simulator.advance() < 1) {
    await readMessages();
    if (wanted !== ticket) return null;
  }
  const { summary, charts } = simulator.finish(options);
  return { summary, charts };
}

/** Between the slices of another run, too. */
function tell({ ticket, slot, time_s, span_s }: BesideMoment & { ticket: number }): void {
  const simulator = simulators.get(slot);
  if (simulator === undefined) {
    post({ kind: 'stopped', ticket });
    return;
  }
  try {
    post({ kind: 'reply', ticket, value: simulator.moment(time_s, span_s) });
  } catch (thrown) {
    fail(ticket, thrown);
  }
}

function fail(ticket: number, thrown: unknown): void {
  if (isCallErrors(thrown)) post({ kind: 'refused', ticket, errors: thrown.errors });
  else post({ kind: 'died', message: messageOf(thrown) });
}

self.onmessage = ({ data }: MessageEvent<ToBeside>) => {
  if (data.kind === 'start') {
    ready = begin(data);
    return;
  }
  const { ticket } = data;
  if (data.kind === 'moment') {
    tell(data);
    return;
  }
  wanted = ticket;
  tables.letGo();
  simulate(data).then((value) => {
    if (value === null) post({ kind: 'stopped', ticket });
    else post({ kind: 'reply', ticket, value }, buffersOf(value.charts));
  }, (thrown: unknown) => {
    fail(ticket, thrown);
  });
};
