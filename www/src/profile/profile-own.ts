// The profile that somebody has loaded in place of the shipped ones: for this visit, and in no link.
import type { App } from '../app.js';
import type { FittedProfile, ProfileFiles } from '../engine/types.js';
import { Topic } from '../state/topic.js';

export const ownProfile = new Topic<FittedProfile | null>(null);

/** Reads or fits what was chosen; the former profile stays where a file is bad. False while no worker can. */
export async function takeFiles(app: App, files: readonly File[], of: Omit<ProfileFiles, 'files'>): Promise<boolean> {
  const texts = await Promise.all(files.map(async (file) => ({ name: file.name, text: await file.text() })));
  const fitted = await app.ask({ kind: 'engine', call: 'fit_profile', values: [{ ...of, files: texts }] });
  if (fitted === null) return false;
  use(app, fitted as FittedProfile);
  return true;
}

export async function backToShipped(app: App): Promise<void> {
  await app.ask({ kind: 'engine', call: 'load_profile', values: ['', ''] });
  use(app, null);
}

function use(app: App, profile: FittedProfile | null): void {
  app.touch('profile');
  ownProfile.set(profile);
  app.run();
}
