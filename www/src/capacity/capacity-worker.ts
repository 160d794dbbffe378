// One thread of the capacity search: a configuration at a time, in slices, so that it can be stopped between two.
import { capacity_grid, capacity_standings, CapacitySearch } from '../../pkg/servescope.js';
import { readMessages } from '../simulation/pause.js';
import { buffersOf } from '../simulation/protocol.js';
import { begin, tables } from '../simulation/simulating.js';
import { failuresOf } from '../simulation/types.js';
import type { FromSearcher, ToSearcher } from './capacity-calls.js';

const PROGRESS_EVERY_MS = 100;

let ready = Promise.resolve();
let searcher: CapacitySearch | null = null;
/** The search that is wanted; an older one ends at its next slice. */
let wanted = 0;

function post(message: FromSearcher, transfer: Transferable[] = []): void {
  self.postMessage(message, { transfer });
}

async function search(ticket: number, scenario: Extract<ToSearcher, { kind: 'search' }>['scenario']): Promise<void> {
  const begun = await tables.have(() => { (searcher ??= new CapacitySearch()).begin(scenario); }, () => wanted === ticket);
  if (!begun || searcher === null) {
    post({ kind: 'stopped', ticket });
    return;
  }
  let told = performance.now();
  for (;;) {
    const fraction = searcher.advance();
    if (fraction >= 1) break;
    await readMessages();
    if (wanted !== ticket) {
      post({ kind: 'stopped', ticket });
      return;
    }
    if (performance.now() - told > PROGRESS_EVERY_MS) {
      told = performance.now();
      post({ kind: 'progress', ticket, fraction });
    }
  }
  const value = searcher.finish();
  post({ kind: 'reply', ticket, value }, buffersOf(value.charts));
}

async function answer(message: Exclude<ToSearcher, { kind: 'start' }>): Promise<void> {
  await ready;
  switch (message.kind) {
    case 'trace':
      searcher?.free();
      searcher = new CapacitySearch();
      if (message.trace !== null) searcher.load_columns(message.trace.name, message.trace.columns);
      if (message.profile !== null) searcher.load_profile(message.profile.name, message.profile.text);
      return;
    case 'grid': post({ kind: 'reply', ticket: message.ticket, value: capacity_grid(message.scenario) }); return;
    case 'standings': {
      const value = capacity_standings(message.entries);
      post({ kind: 'reply', ticket: message.ticket, value }, buffersOf(value.charts));
      return;
    }
    case 'search': await search(message.ticket, message.scenario); return;
    case 'stop': return;
  }
}

self.onmessage = ({ data }: MessageEvent<ToSearcher>) => {
  if (data.kind === 'start') {
    ready = begin(data);
    return;
  }
  if (data.kind === 'search') wanted = data.ticket;
  else if (data.kind === 'stop') wanted = 0;
  if (data.kind === 'search' || data.kind === 'stop') tables.letGo();
  answer(data).catch((thrown: unknown) => {
    post({ kind: 'refused', ticket: 'ticket' in data ? data.ticket : 0, failures: failuresOf(thrown) });
  });
};
