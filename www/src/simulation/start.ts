// The first message to every worker that simulates. The module is compiled once, by the page; all of them share it.

export interface Start {
  kind: 'start';
  module: WebAssembly.Module;
  /** The page's address: operator tables are fetched beside it. */
  page: string;
}

let shared: Start | null = null;

/** Makes the compiled module known to what starts a worker. */
export function share(module: WebAssembly.Module, page: string): Start {
  return (shared = { kind: 'start', module, page });
}

/** The first message to a worker. */
export function start(): Start {
  if (shared === null) throw new Error('no module is compiled yet');
  return shared;
}
