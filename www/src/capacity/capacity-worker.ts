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

/** Begins with what is wanted and works on it in slices; false when it was let go. */
async function work(ticket: number, begins: (searcher: CapacitySearch) => void, advances: (searcher: CapacitySearch) => number): Promise<CapacitySearch | null> {
  const begun = await tables.have(() => { begins(searcher ??= new CapacitySearch()); }, () => wanted === ticket);
  const worker = searcher;
  if (!begun || worker === null) {
    post({ kind: 'stopped', ticket });
    return null;
  }
  let told = performance.now();
  for (;;) {
    const fraction = advances(worker);
    if (fraction >= 1) return worker;
    await readMessages();
    if (wanted !== ticket) {
      post({ kind: 'stopped', ticket });
      return null;
    }
    if (performance.now() - told > PROGRESS_EVERY_MS) {
      told = performance.now();
      post({ kind: 'progress', ticket, fraction });
    }
  }
}

const advance = (worker: CapacitySearch): number => worker.advance();

async function search({ ticket, scenario }: Extract<ToSearcher, { kind: 'search' }>): Promise<void> {
  const value = (await work(ticket, (worker) => { worker.begin(scenario); }, advance))?.finish();
  if (value !== undefined) post({ kind: 'reply', ticket, value }, buffersOf(value.charts));
}

async function load({ ticket, scenario }: Extract<ToSearcher, { kind: 'load' }>): Promise<void> {
  const worker = await work(ticket, (begun) => { begun.begin_load(scenario); }, advance);
  if (worker !== null) post({ kind: 'reply', ticket, value: worker.finish_load() ?? null });
}

async function check({ ticket, scenario, replicas, requests }: Extract<ToSearcher, { kind: 'check' }>): Promise<void> {
  const worker = await work(ticket, (begun) => { begun.begin_check(scenario, replicas, requests); }, (begun) => begun.advance_check());
  if (worker !== null) post({ kind: 'reply', ticket, value: worker.finish_check() ?? null });
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
    case 'search': await search(message); return;
    case 'load': await load(message); return;
    case 'check': await check(message); return;
    case 'stop': return;
  }
}

self.onmessage = ({ data }: MessageEvent<ToSearcher>) => {
  if (data.kind === 'start') {
    ready = begin(data);
    return;
  }
  const isWork = data.kind === 'search' || data.kind === 'load' || data.kind === 'check';
  if (isWork) wanted = data.ticket;
  else if (data.kind === 'stop') wanted = 0;
  if (isWork || data.kind === 'stop') tables.letGo();
  answer(data).catch((thrown: unknown) => {
    post({ kind: 'refused', ticket: 'ticket' in data ? data.ticket : 0, failures: failuresOf(thrown) });
  });
};
