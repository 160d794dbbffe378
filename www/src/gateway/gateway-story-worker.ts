// A thread that simulates the other column of a story, and says its summary.
import init, { Simulator, take_table } from '../../pkg/engine.js';
import address from '../../pkg/engine_bg.wasm?url';
import { startedOnce } from '../engine/fetched.js';
import { OperatorTables } from '../engine/operator-tables.js';
import { readMessages } from '../engine/pause.js';
import { failuresOf, type Failure, type ScenarioPatch, type Summary } from '../engine/types.js';

export interface ToStory { ticket: number; scenario: ScenarioPatch; page: string }
export type FromStory = { ticket: number; summary: Summary } | { ticket: number; failures: Failure[] };

const ready = startedOnce(() => init({ module_or_path: new URL(address, import.meta.url) }));
const tables = new OperatorTables({ take: take_table, fetch: fetch.bind(self), caches: self.caches });
let simulator: Simulator | null = null;
/** The run that is wanted; an older one ends at its next slice. */
let wanted = 0;

async function simulate({ ticket, scenario }: ToStory): Promise<void> {
  await ready();
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
  wanted = data.ticket;
  tables.letGo();
  tables.beside(data.page);
  simulate(data).catch((thrown: unknown) => {
    self.postMessage({ ticket: data.ticket, failures: failuresOf(thrown) } satisfies FromStory);
  });
};
