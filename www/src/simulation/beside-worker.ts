// A thread that simulates another scenario beside the page's own: the other column of a story, the other run of a lesson.
import { Simulator } from '../../pkg/servescope.js';
import { readMessages } from './pause.js';
import { buffersOf } from './protocol.js';
import { begin, tables } from './simulating.js';
import type { Start } from './start.js';
import { isCallErrors, messageOf, type ChartData, type RunOptions, type ScenarioPatch, type Summary } from './types.js';
import type { Reply } from './worker-link.js';

/** A run with the charts that its options name as in sight. */
export interface Beside { kind: 'beside'; scenario: ScenarioPatch; options: RunOptions }
export interface BesideAnswer { summary: Summary; charts: ChartData[] }
export type ToBeside = Start | (Beside & { ticket: number });

function post(message: Reply<BesideAnswer>, transfer: Transferable[] = []): void {
  self.postMessage(message, { transfer });
}

let ready = Promise.resolve();
let simulator: Simulator | null = null;
/** The run that is wanted; an older one ends at its next slice. */
let wanted = 0;

/** The answer; null when another run is wanted meanwhile. */
async function simulate({ ticket, scenario, options }: Beside & { ticket: number }): Promise<BesideAnswer | null> {
  await ready;
  if (wanted !== ticket) return null;
  const begun = await tables.have(() => { (simulator ??= new Simulator()).begin(scenario); }, () => wanted === ticket);
  if (!begun || simulator === null) return null;
  while (simulator.advance() < 1) {
    await readMessages();
    if (wanted !== ticket) return null;
  }
  const { summary, charts } = simulator.finish(options);
  return { summary, charts };
}

self.onmessage = ({ data }: MessageEvent<ToBeside>) => {
  if (data.kind === 'start') {
    ready = begin(data);
    return;
  }
  wanted = data.ticket;
  tables.letGo();
  const { ticket } = data;
  simulate(data).then((value) => {
    if (value === null) post({ kind: 'stopped', ticket });
    else post({ kind: 'reply', ticket, value }, buffersOf(value.charts));
  }, (thrown: unknown) => {
    if (isCallErrors(thrown)) post({ kind: 'refused', ticket, errors: thrown.errors });
    else post({ kind: 'died', message: messageOf(thrown) });
  });
};
