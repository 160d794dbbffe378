// The traffic of a run as the address and the history keep it: the files, how each is read, and the steps that change it.
import type { SourceInfo } from '../simulation/types.js';

/** How a file is read. */
export interface Reading {
  /** What the columns are, as the terminal takes it; "" for a known format. */
  mapping: string;
  /** Bad rows are listed and left out; otherwise the first ends the reading. */
  leaveOut: boolean;
  /** Output length of requests whose own the file does not have, tokens; 0 = the median of the file's. */
  anyOutput: number;
}

/** Steps as text, as the terminal takes them, and how several files become one. */
export interface Pipe { join: string; steps: readonly string[] }

/** Where the traffic of a run comes from: null where it is generated, and what it takes to have it again. */
export interface Traffic { info: SourceInfo | null; files: readonly ({ file: File } & Reading)[]; pipe: Pipe }
