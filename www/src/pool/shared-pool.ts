// The page's one pool, and what its runs take beside their scenario.
import type { App } from '../app/app.js';
import { ownProfile } from '../app/own-profile.js';
import type { FittedProfile, SourceInfo } from '../simulation/types.js';
import type { Inputs } from '../simulation/inputs.js';
import { WorkerPool } from './worker-pool.js';

let shared: WorkerPool | null = null;

export function sharedPool(): WorkerPool {
  return (shared ??= new WorkerPool(() => new Worker(new URL('./pool-worker.ts', import.meta.url), { type: 'module' })));
}

let last: { info: SourceInfo | null; profile: FittedProfile | null; inputs: Inputs } | null = null;

/** The trace and the profile that the page simulates with: one object as long as they stay. */
export async function inputsOf(app: App): Promise<Inputs> {
  const info = app.traceFile.info.value;
  const profile = ownProfile.value;
  if (last?.info === info && last.profile === profile) return last.inputs;
  const trace = info === null ? null : { name: info.name, columns: await (await app.traceFile.studio()).call('columns', null) };
  const inputs: Inputs = { trace, profile: profile === null ? null : { name: profile.name, text: profile.text } };
  last = { info, profile, inputs };
  return inputs;
}
