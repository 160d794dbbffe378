// What the page and the service worker say to each other.
export type ToServiceWorker =
  /** This build of the page works: make a copy of it. */
  | { kind: 'keep'; build: string; used: readonly string[]; everything: boolean }
  /** The page is about to load again, for a newer version of it. */
  | { kind: 'newest' };

export type FromServiceWorker =
  | { kind: 'kept'; scope: string }
  /** The host has another build than the one that runs. */
  | { kind: 'newer'; scope: string }
  | { kind: 'failed'; scope: string; message: string }
  /** Another tab runs this build, and works. */
  | { kind: 'runs'; scope: string; build: string };
