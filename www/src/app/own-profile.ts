// The profile that was loaded in place of the shipped ones: for this visit, and in no link.
import type { App } from './app.js';
import type { FittedProfile, ProfileFiles } from '../simulation/types.js';
import { Topic } from '../lib/topic.js';

export const ownProfile = new Topic<FittedProfile | null>(null);

/** Reads or fits what was chosen; the former profile stays where a file is bad. */
export async function takeFiles(app: App, files: readonly File[], of: Omit<ProfileFiles, 'files'>): Promise<void> {
  const texts = await Promise.all(files.map(async (file) => ({ name: file.name, text: await file.text() })));
  const studio = await app.traceFile.studio();
  const fitted = await studio.call('profile', { ...of, files: texts });
  await app.ask({ kind: 'call', call: 'load_profile', values: [fitted.name, fitted.text] });
  use(app, fitted);
}

export async function backToShipped(app: App): Promise<void> {
  await app.ask({ kind: 'call', call: 'load_profile', values: ['', ''] });
  use(app, null);
}

function use(app: App, profile: FittedProfile | null): void {
  app.touch('profile');
  ownProfile.set(profile);
  app.run();
}
