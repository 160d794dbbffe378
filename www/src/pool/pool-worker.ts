// A thread of the pool: one task at a time, in slices, so that it can be stopped between two.
import { CapacityWork } from './capacity-work.js';
import { LoadWork } from './load-work.js';
import { CompareWork } from './compare-work.js';
import { readMessages } from '../simulation/pause.js';
import { begin, tables } from '../simulation/simulating.js';
import { overlayWork } from './overlay-work.js';
import { isCallErrors, messageOf } from '../simulation/types.js';
import { answerOf } from './answers.js';
import { isTask, type FromThread, type Holder, type Task, type ToThread } from './pool-calls.js';
import { SHIPPED, type Inputs } from '../simulation/inputs.js';
import type { Finished, Work } from './work.js';

const PROGRESS_EVERY_MS = 100;

let ready = Promise.resolve();
/** What the next holder takes; once it has, it has the only copy. */
let inputs: Inputs = SHIPPED;
let loaded: { by: Holder; work: CapacityWork | CompareWork | LoadWork } | null = null;
/** The task that is wanted; an older one ends at its next slice. */
let wanted = 0;

function post(message: FromThread, transfer: Transferable[] = []): void {
  self.postMessage(message, { transfer });
}

function reply(ticket: number, { value, transfer }: Finished): void {
  post({ kind: 'reply', ticket, value }, transfer);
}

function letGo(): void {
  loaded?.work.free();
  loaded = null;
}

/** The holder of the present inputs. */
function holding<Kind extends CapacityWork | CompareWork | LoadWork>(by: Holder, make: (inputs: Inputs) => Kind): Kind {
  if (loaded?.by === by) return loaded.work as Kind;
  letGo();
  const work = make(inputs);
  loaded = { by, work };
  inputs = SHIPPED;
  return work;
}

function workOf(task: Task): Work {
  switch (task.kind) {
    case 'load':
    case 'causes':
    case 'unneeded': return holding(task.kind, (given) => new LoadWork(task.kind, given)).of(task);
    case 'search':
    case 'slo':
    case 'check': return holding('capacity', (given) => new CapacityWork(given)).of(task);
    case 'measure':
    case 'seed':
    case 'pair':
    case 'metrics': return holding('compare', (given) => new CompareWork(given)).of(task);
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
  let reported = performance.now();
  for (let fraction = under.advance(); fraction < 1; fraction = under.advance()) {
    await readMessages();
    if (!isWanted()) {
      post({ kind: 'stopped', ticket });
      return;
    }
    if (performance.now() - reported > PROGRESS_EVERY_MS) {
      reported = performance.now();
      post({ kind: 'progress', ticket, fraction });
    }
  }
  reply(ticket, under.finish());
}

async function answer(message: Exclude<ToThread, { kind: 'start' }>): Promise<void> {
  await ready;
  if (isTask(message)) await work(message);
  else if (message.kind === 'inputs') {
    letGo();
    inputs = message.inputs;
  } else if (message.kind !== 'stop') reply(message.ticket, answerOf(message));
}

self.onmessage = ({ data }: MessageEvent<ToThread>) => {
  if (data.kind === 'start') {
    ready = begin(data);
    return;
  }
  if (data.kind === 'stop' || isTask(data)) {
    wanted = data.kind === 'stop' ? 0 : data.ticket;
    tables.letGo();
  }
  answer(data).catch((thrown: unknown) => {
    if (isCallErrors(thrown)) post({ kind: 'refused', ticket: 'ticket' in data ? data.ticket : 0, errors: thrown.errors });
    else post({ kind: 'died', message: messageOf(thrown) });
  });
};
