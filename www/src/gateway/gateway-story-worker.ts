// A thread that simulates the other column of a story, and says its summary.
import { Simulator } from '../../pkg/servescope.js';
import { readMessages } from '../simulation/pause.js';
import { begin, tables } from '../simulation/simulating.js';
import type { Start } from '../simulation/start.js';
import { failuresOf, type ScenarioPatch, type Summary } from '../simulation/types.js';
import type { Reply } from '../simulation/worker-link.js';

/** The other column of a story. */
export interface Column { kind: 'column'; ticket: number; scenario: ScenarioPatch }
export type ToStory = Start | Column;

function post(message: Reply<Summary>): void {
  self.postMessage(message);
}

let ready = Promise.resolve();
let simulator: Simulator | null = null;
/** The run that is wanted; an older one ends at its next slice. */
let wanted = 0;

/** The summary; null when another run is wanted meanwhile. */
async function simulate({ ticket, scenario }: Column): Promise<Summary | null> {
  await ready;
  if (wanted !== ticket) return null;
  const begun = await tables.have(() => { (simulator ??= new Simulator()).begin(scenario); }, () => wanted === ticket);
  if (!begun || simulator === null) return null;
  while (simulator.advance() < 1) {
    await readMessages();
    if (wanted !== ticket) return null;
  }
  return simulator.finish({ columns: 2, window: null, split_by: 'adapter', in_sight: [] }).summary;
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
    post(value === null ? { kind: 'stopped', ticket } : { kind: 'reply', ticket, value });
  }, (thrown: unknown) => { post({ kind: 'refused', ticket, failures: failuresOf(thrown) }); });
};
