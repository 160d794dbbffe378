// A host of the built page that a test can change: another version, errors, no response.
import { createHash } from 'node:crypto';
import { readFileSync, existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

const DIST = join(import.meta.dirname, '../../../dist');
const FOLDER = '/some/where/';
const TYPES: Record<string, string> = {
  '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json', '.wasm': 'application/wasm',
  '.svg': 'image/svg+xml', '.webmanifest': 'application/manifest+json', '.txt': 'text/plain',
};

export interface Host {
  readonly url: string;
  /** Serves what is built as if it were another build. */
  deploy(build: string): void;
  /** Files that are no longer there. */
  remove(files: RegExp): void;
  /** Such files are answered with an error, so many times. */
  fail(files: RegExp, times: number): void;
  /** How everything is answered from now on, in place of the files. */
  answer(how: { status: number; body: string } | 'never' | 'files'): void;
  /** Acts once, as soon as a file was served. */
  onceServed(file: string, act: () => void): void;
  /** How often a file was asked for. */
  asked(file: string): number;
  close(): Promise<void>;
}

export async function startHost(): Promise<Host> {
  const changed = new Map<string, Buffer>();
  const gone: RegExp[] = [];
  const failures: { files: RegExp; left: number }[] = [];
  const asked: string[] = [];
  const acts = new Map<string, () => void>();
  let how: Parameters<Host['answer']>[0] = 'files';
  const bytes = (name: string): Buffer | null => {
    const path = join(DIST, name);
    return changed.get(name) ?? (existsSync(path) ? readFileSync(path) : null);
  };
  const server = createServer((request, response) => {
    const name = (request.url ?? '').replace(/[?#].*$/, '').slice(FOLDER.length) || 'index.html';
    asked.push(name);
    if (how === 'never') return;
    if (how !== 'files') {
      response.writeHead(how.status, { 'content-type': 'text/html' }).end(how.body);
      return;
    }
    const failing = failures.find(({ files, left }) => left > 0 && files.test(name));
    if (failing !== undefined) {
      failing.left -= 1;
      response.writeHead(503).end();
      return;
    }
    const found = gone.some((files) => files.test(name)) ? null : bytes(name);
    if (found === null) {
      response.writeHead(404).end();
      return;
    }
    const headers = { 'content-type': TYPES[extname(name)] ?? 'application/octet-stream', 'content-encoding': 'gzip', 'cache-control': 'no-cache' };
    response.writeHead(200, headers).end(gzipSync(found, { level: 1 }));
    const act = acts.get(name);
    acts.delete(name);
    act?.();
  });
  await new Promise<void>((done) => { server.listen(0, '127.0.0.1', done); });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${String(port)}${FOLDER}`,
    deploy: (build) => {
      const index = readFileSync(join(DIST, 'index.html'), 'utf8').replace(/(name="servescope-build" content=")[^"]*/, `$1${build}`);
      const { files } = JSON.parse(readFileSync(join(DIST, 'files.json'), 'utf8')) as { files: Record<string, string> };
      files[''] = `sha256-${createHash('sha256').update(index).digest('base64')}`;
      changed.set('index.html', Buffer.from(index)).set('files.json', Buffer.from(JSON.stringify({ build, files })));
    },
    fail: (files, left) => { failures.push({ files, left }); },
    remove: (files) => { gone.push(files); },
    answer: (next) => { how = next; },
    onceServed: (file, act) => { acts.set(file, act); },
    asked: (file) => asked.filter((name) => name === file).length,
    close: () => new Promise((done) => {
      server.closeAllConnections();
      server.close(() => { done(); });
    }),
  };
}
