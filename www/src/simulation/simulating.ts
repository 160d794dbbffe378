// The start of every thread that simulates: the page's compiled module, and the operator tables beside the page.
import init, { take_table } from '../../pkg/servescope.js';
import { OperatorTables } from './operator-tables.js';
import type { Start } from './start.js';

export const tables = new OperatorTables({ take: take_table, fetch: fetch.bind(self), caches: self.caches });

export async function begin({ module, page }: Start): Promise<void> {
  tables.beside(page);
  await init({ module_or_path: module });
}
