// A part of the page that is fetched when it is first needed. A failed fetch is reported in the page's own words, and is
// tried again the next time.
import { messageOf, pageError, type Diagnostic } from './types.js';

/** A part of the page could not be fetched or started. */
export class MissingPart extends Error {
  readonly errors: Diagnostic[];

  constructor(cause: unknown) {
    super(messageOf(cause), { cause });
    this.errors = [missingPart(messageOf(cause))];
  }
}

export function missingPart(message: string): Diagnostic {
  return pageError('missing_part', `a part of the page could not be fetched: ${message}`);
}

/** Why a worker ended. An error without a message comes where its script could not be fetched. */
export function lostWorker(message: string | undefined): Diagnostic {
  if (message === undefined || message === '') return missingPart('the script of a worker');
  return pageError('internal', message);
}

/** What `start` makes, made once; after a failure it is made anew. */
export function startedOnce<T>(start: () => Promise<T>): () => Promise<T> {
  let started: Promise<T> | null = null;
  return () => {
    started ??= start().catch((thrown: unknown) => {
      started = null;
      throw new MissingPart(thrown);
    });
    return started;
  };
}
