// A thread that simulates the other column of a story, and says its summary and its charts.
import { Simulator } from '../../pkg/servescope.js';
import { readMessages } from '../simulation/pause.js';
import { begin, tables } from '../simulation/simulating.js';
import type { Start } from '../simulation/start.js';
import { buffersOf } from '../simulation/protocol.js';
import { failuresOf, type ChartData, type RunOptions, type ScenarioPatch, type Summary } from '../simulation/types.js';
import type { Reply } from '../simulation/worker-link.js';

/** The other column of a story. */
export interface Column { kind: 'column'; ticket: number; scenario: ScenarioPatch; options: RunOptions }
export interface Told { summary: Summary; charts: ChartData[] }
export type ToStory = Start | Column;

function post(message: Reply<Told>, handed: Transferable[] = []): void {
  self.postMessage(message, { transfer: handed });
}

let ready = Promise.resolve();
let simulator: Simulator | null = null;
/** The run that is wanted; an older one ends at its next slice. */
let wanted = 0;

/** What is told of the run; null when another run is wanted meanwhile. */
async function simulate({ ticket, scenario, options }: Column): Promise<Told | null> {
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

self.onmessage = ({ data }: MessageEvent<ToStory>) => {
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
  }, (thrown: unknown) => { post({ kind: 'refused', ticket, failures: failuresOf(thrown) }); });
};
