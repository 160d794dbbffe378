// The thread of the scheduler debugger: it keeps a run, and goes from step to step.
import { Stepper } from '../../pkg/servescope.js';
import type { Inputs } from '../simulation/inputs.js';
import { readMessages } from '../simulation/pause.js';
import { begin, tables } from '../simulation/simulating.js';
import type { Start } from '../simulation/start.js';
import { errorsOf, isCallErrors, messageOf, type DebuggerStep, type ScenarioPatch } from '../simulation/types.js';
import type { Reply } from '../simulation/worker-link.js';

export type Way = 'by' | 'to' | 'time' | 'request' | 'next' | 'previous';
/** Of what kind the next or the previous step is; '' for the other ways. */
export type StepKind = '' | 'rejection' | 'preemption' | 'load' | 'drafts' | 'scaling' | 'failure';
export interface Prepare { kind: 'prepare'; scenario: ScenarioPatch; inputs: Inputs }
export interface Go { kind: 'go'; way: Way; number: number; of: StepKind }
type ToDebugger = Start | ((Prepare | Go) & { ticket: number });

const PROGRESS_EVERY_MS = 100;

function post(message: Reply<DebuggerStep>): void {
  self.postMessage(message);
}

let ready = Promise.resolve();
let stepper: Stepper | null = null;
/** The run that is wanted; an older one ends at its next slice. */
let wanted = 0;

/** The first step; null when another run is wanted meanwhile. */
async function prepare({ ticket, scenario, inputs: { trace, profile } }: Prepare & { ticket: number }): Promise<DebuggerStep | null> {
  await ready;
  if (wanted !== ticket) return null;
  stepper?.free();
  const own = stepper = new Stepper();
  if (trace !== null) own.load_columns(trace.name, trace.columns);
  if (profile !== null) own.load_profile(profile.name, profile.text);
  const begun = await tables.have(() => { own.begin(scenario); }, () => wanted === ticket);
  if (!begun) return null;
  let reported = performance.now();
  for (let fraction = own.advance(); fraction < 1; fraction = own.advance()) {
    await readMessages();
    if (wanted !== ticket) return null;
    if (performance.now() - reported > PROGRESS_EVERY_MS) {
      reported = performance.now();
      post({ kind: 'progress', ticket, fraction });
    }
  }
  return own.finish();
}

async function answer(message: (Prepare | Go) & { ticket: number }): Promise<DebuggerStep | null> {
  if (message.kind === 'prepare') return prepare(message);
  await ready;
  return stepper?.go(message.way, message.number, message.of) ?? null;
}

self.onmessage = ({ data }: MessageEvent<ToDebugger>) => {
  if (data.kind === 'start') {
    ready = begin(data);
    return;
  }
  const { ticket } = data;
  if (data.kind === 'prepare') {
    wanted = ticket;
    tables.letGo();
  }
  answer(data).then((value) => {
    if (value === null) post({ kind: 'stopped', ticket });
    else post({ kind: 'reply', ticket, value });
  }, (thrown: unknown) => {
    if (isCallErrors(thrown)) post({ kind: 'refused', ticket, errors: errorsOf(thrown) });
    else post({ kind: 'died', message: messageOf(thrown) });
  });
};
