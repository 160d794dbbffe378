// The terminal's answer to the same question.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../../..');
export const PROGRAM = process.env['SERVESCOPE_TERMINAL'] ?? join(ROOT, 'target/release/servescope');

/** The scenario of links before version 5, as a file. */
export const SLORA = join(ROOT, 'static/presets/slora.json');

/** The programme, built by the task that runs these tests; null where it is not there and is not required. */
export function terminal(): ((...options: string[]) => { digest: string }) | null {
  if (!existsSync(PROGRAM)) {
    if (process.env['CI']) throw new Error(`${PROGRAM} is not built`);
    return null;
  }
  return (...options) => JSON.parse(execFileSync(PROGRAM, options, { encoding: 'utf8', maxBuffer: 1 << 28 })) as { digest: string };
}

const TRACES = process.env['SERVESCOPE_TRACES'];

/** A real trace of the folder that SERVESCOPE_TRACES names; null where the variable names none. */
export function traceFile(name: string): { path: string; bytes: Buffer } | null {
  if (!TRACES) return null;
  const path = join(TRACES, name);
  if (!existsSync(path)) throw new Error(`${path} is missing`);
  return { path, bytes: readFileSync(path) };
}

/** What the terminal prints until each of the patterns is found in it, or to its end. */
export async function printedUntil(options: string[], patterns: RegExp[]): Promise<string> {
  const program = spawn(PROGRAM, options, { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  for await (const part of program.stdout.setEncoding('utf8')) {
    printed += String(part);
    if (patterns.every((pattern) => pattern.test(printed))) break;
  }
  program.kill();
  return printed;
}
