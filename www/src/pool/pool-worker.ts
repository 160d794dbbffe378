// A thread of the pool: one task at a time, in slices, so that it can be stopped between two.
import { CapacityWork } from './capacity-work.js';
import { LoadWork } from './load-work.js';
import { CompareWork } from './compare-work.js';
import { readMessages } from '../simulation/pause.js';
import { begin, tables } from '../simulation/simulating.js';
import { overlayWork } from './overlay-work.js';
import { isCallErrors, messageOf } from '../simulation/types.js';
import { answerOf } from './answers.js';
import type { FromThread, Task, ToThread } from './pool-calls.js';
import { SHIPPED, type Inputs } from '../simulation/inputs.js';
import type { Finished, Work } from './work.js';

const PROGRESS_EVERY_MS = 100;

let ready = Promise.resolve();
let inputs: Inputs = SHIPPED;
/** What has loaded those inputs. One at a time, since a trace of a million requests is some 60 MB in each. */
let loaded: CapacityWork | CompareWork | LoadWork | null = null;
/** The task that is wanted; an older one ends at its next slice. */
let wanted = 0;

function post(message: FromThread, transfer: Transferable[] = []): void {
  self.postMessage(message, { transfer });
}

function reply(ticket: number, { value, transfer }: Finished): void {
  post({ kind: 'reply', ticket, value }, transfer);
}

function having<Kind extends CapacityWork | CompareWork | LoadWork>(kind: new (inputs: Inputs) => Kind): Kind {
  if (loaded instanceof kind) return loaded;
  letGo();
  const work = new kind(inputs);
  loaded = work;
  return work;
}

function letGo(): void {
  loaded?.free();
  loaded = null;
}

function workOf(task: Task): Work {
  switch (task.kind) {
    case 'load':
    case 'causes':
    case 'unneeded': return having(LoadWork).of(task);
    case 'search':
    case 'slo':
    case 'check': return having(CapacityWork).of(task);
    case 'measure':
    case 'seed':
    case 'pair':
    case 'metrics': return having(CompareWork).of(task);
    case 'overlay': return overlayWork(task);
  }
}

/** Works on a task until it is done or let go. */
async function work(task: Task & { ticket: number }): Promise<void> {
  const { ticket } = task;
  let work: Work | null = null;
  const isWanted = (): boolean => wanted === ticket;
  const begun = await tables.have(() => {
    work = workOf(task);
    work.begin();
  }, isWanted);
  const under = work as Work | null;
  if (!begun || under === null) {
    post({ kind: 'stopped', ticket });
    return;
  }
  let told = performance.now();
  for (let fraction = under.advance(); fraction < 1; fraction = under.advance()) {
    await readMessages();
    if (!isWanted()) {
      post({ kind: 'stopped', ticket });
      return;
    }
    if (performance.now() - told > PROGRESS_EVERY_MS) {
      told = performance.now();
      post({ kind: 'progress', ticket, fraction });
    }
  }
  reply(ticket, under.finish());
}

async function answer(message: Exclude<ToThread, { kind: 'start' }>): Promise<void> {
  await ready;
  switch (message.kind) {
    case 'inputs':
      letGo();
      inputs = message.inputs;
      return;
    case 'stop': return;
    case 'grid':
    case 'seeds':
    case 'comparison':
    case 'standings': reply(message.ticket, answerOf(message)); return;
    case 'search':
    case 'load':
    case 'causes':
    case 'unneeded':
    case 'slo':
    case 'check':
    case 'measure':
    case 'seed':
    case 'pair':
    case 'metrics':
    case 'overlay': await work(message);
  }
}

self.onmessage = ({ data }: MessageEvent<ToThread>) => {
  switch (data.kind) {
    case 'start': ready = begin(data); return;
    case 'inputs':
    case 'grid':
    case 'seeds':
    case 'comparison':
    case 'standings': break;
    case 'stop': wanted = 0; tables.letGo(); break;
    case 'search':
    case 'load':
    case 'causes':
    case 'unneeded':
    case 'slo':
    case 'check':
    case 'measure':
    case 'seed':
    case 'pair':
    case 'overlay':
    case 'metrics': wanted = data.ticket; tables.letGo();
  }
  answer(data).catch((thrown: unknown) => {
    if (isCallErrors(thrown)) post({ kind: 'refused', ticket: 'ticket' in data ? data.ticket : 0, errors: thrown.errors });
    else post({ kind: 'died', message: messageOf(thrown) });
  });
};
