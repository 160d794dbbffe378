// What the monitor knows, and how its table is sorted.
import type { App } from '../app/app.js';
import type { MonitorOptions, MonitorView } from '../simulation/types.js';
import { OpenQuestion } from '../state/open-question.js';
import { partsOf, Topic } from '../lib/topic.js';

export type Sorting = Pick<MonitorOptions, 'client' | 'sort' | 'descending' | 'rows'>;

/** Rows of the table, and when more are asked for. */
export const FEW_ROWS = 12;
export const MORE_ROWS = 200;

export class MonitorData extends OpenQuestion<MonitorView> {
  readonly sorting = new Topic<Sorting>({ client: 'user', sort: 'service', descending: true, rows: FEW_ROWS });

  constructor(app: App) {
    super(app, () => {
      const { window } = app.view.value;
      return app.ask({ kind: 'call', call: 'monitor', values: [{ ...this.sorting.value, window }] }) as Promise<MonitorView>;
    }, partsOf(app.view, ({ window }) => window));
    this.sorting.subscribe(() => { this.ask(); });
  }
}
