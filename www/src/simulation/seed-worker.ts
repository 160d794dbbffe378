// The thread of further seeds: a run at a time, in slices, so that it can be stopped between two.
import { Simulator } from '../../pkg/servescope.js';
import { readMessages } from './pause.js';
import type { FromSeeds, ToSeeds } from './seed-calls.js';
import { begin, tables } from './simulating.js';
import { failuresOf } from './types.js';

let ready = Promise.resolve();
let simulator: Simulator | null = null;
/** The run that is wanted; an older one ends at its next slice. */
let wanted = 0;

function post(message: FromSeeds): void {
  self.postMessage(message);
}

async function measure({ ticket, scenario }: Extract<ToSeeds, { kind: 'measure' }>): Promise<void> {
  const mine = (simulator ??= new Simulator());
  const isWanted = (): boolean => wanted === ticket && mine === simulator;
  let goesOn = await tables.have(() => { mine.begin(scenario); }, isWanted);
  while (goesOn && isWanted()) {
    if (mine.advance() >= 1) {
      post({ kind: 'reply', ticket, value: mine.measure() });
      return;
    }
    await readMessages();
    goesOn = isWanted();
  }
  post({ kind: 'stopped', ticket });
}

async function answer(message: Exclude<ToSeeds, { kind: 'start' }>): Promise<void> {
  await ready;
  switch (message.kind) {
    case 'trace':
      simulator?.free();
      simulator = new Simulator();
      if (message.trace !== null) simulator.load_columns(message.trace.name, message.trace.columns);
      if (message.profile !== null) simulator.load_profile(message.profile.name, message.profile.text);
      return;
    case 'measure': await measure(message); return;
    case 'stop': return;
  }
}

self.onmessage = ({ data }: MessageEvent<ToSeeds>) => {
  if (data.kind === 'start') {
    ready = begin(data);
    return;
  }
  wanted = data.kind === 'measure' ? data.ticket : 0;
  tables.letGo();
  answer(data).catch((thrown: unknown) => {
    post({ kind: 'refused', ticket: 'ticket' in data ? data.ticket : 0, failures: failuresOf(thrown) });
  });
};
