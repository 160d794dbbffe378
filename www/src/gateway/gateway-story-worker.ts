// A thread that simulates the other column of a story, and says its summary.
import { Simulator } from '../../pkg/servescope.js';
import { readMessages } from '../engine/pause.js';
import { begin, tables } from '../engine/simulating.js';
import type { Start } from '../engine/start.js';
import { failuresOf, type Failure, type ScenarioPatch, type Summary } from '../engine/types.js';

/** The other column of a story. */
export interface Column { kind: 'column'; ticket: number; scenario: ScenarioPatch }
export type ToStory = Start | Column;
export type FromStory = { ticket: number; summary: Summary } | { ticket: number; failures: Failure[] };

let ready = Promise.resolve();
let simulator: Simulator | null = null;
/** The run that is wanted; an older one ends at its next slice. */
let wanted = 0;

async function simulate({ ticket, scenario }: Column): Promise<void> {
  await ready;
  if (wanted !== ticket) return;
  const begun = await tables.have(() => { (simulator ??= new Simulator()).begin(scenario); }, () => wanted === ticket);
  if (!begun || simulator === null) return;
  while (simulator.advance() < 1) {
    await readMessages();
    if (wanted !== ticket) return;
  }
  const { summary } = simulator.finish({ columns: 2, window: null, split_by: 'adapter', in_sight: [] });
  self.postMessage({ ticket, summary } satisfies FromStory);
}

self.onmessage = ({ data }: MessageEvent<ToStory>) => {
  if (data.kind === 'start') {
    ready = begin(data);
    return;
  }
  wanted = data.ticket;
  tables.letGo();
  simulate(data).catch((thrown: unknown) => {
    self.postMessage({ ticket: data.ticket, failures: failuresOf(thrown) } satisfies FromStory);
  });
};
