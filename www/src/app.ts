// The page's centre: it joins the scenario, the simulation, the address and what is on screen. Elements read its topics
// and call its methods; it knows no element.
import { Client, Refusal, type WorkerPort } from './engine/client.js';
import { encodeLink, palette, parseLink, resolve, schema } from './engine/module.js';
import type { Answer } from './engine/protocol.js';
import { messageOf, type Failure, type Parameter, type ParameterValue, type RunOptions, type TraceInfo } from './engine/types.js';
import { Scheduler } from './draw/scheduler.js';
import type { Languages } from './i18n/languages.js';
import type { Text } from './i18n/text.js';
import { Stopwatch } from './stopwatch.js';
import { Address, type PageKeys } from './state/address.js';
import { History } from './state/history.js';
import { Notices } from './state/notices.js';
import type { Preset } from './state/presets.js';
import { chartMap, Ghost, newSession, newView, shownOf, type View } from './state/session.js';
import { setLanguage, type Language, type Settings } from './state/settings.js';
import { sameValue, Store, withoutDefaults, type Edit, type Source, type Values } from './state/store.js';
import { Topic } from './state/topic.js';

/** Columns of the time charts: about one a pixel of the widest. */
const COLUMNS = 600;
const NONE: readonly Failure[] = [];

export interface Cursor { time: number; chart: string }

export class App {
  readonly schema = schema();
  readonly parameters: ReadonlyMap<string, Parameter> = new Map(this.schema.parameters.map((parameter) => [parameter.id, parameter]));
  readonly session = newSession();
  /** What the last run objected to. */
  readonly failures = new Topic<readonly Failure[]>(NONE);
  /** The file that stands for the generated traffic. */
  readonly trace = new Topic<TraceInfo | null>(null);
  readonly cursor = new Topic<Cursor | null>(null);
  readonly notices = new Notices();
  readonly history = new History();
  /** Values that were typed and cannot be used, by parameter; the scenario keeps its former value. */
  readonly drafts = new Topic<ReadonlyMap<string, { value: ParameterValue; failure: Failure }>>(new Map());
  readonly stopwatch = new Stopwatch();
  readonly scheduler = new Scheduler((script_ms) => { this.#drawn(script_ms); });
  readonly store: Store;
  readonly view: Topic<View>;
  readonly #ghost = new Ghost();
  readonly #client: Client;
  readonly #address: Address;
  /** Trace file that the link names and nobody has dropped yet. */
  #missingFile: string | null = null;
  #undrawn: string | null = null;

  readonly presets: readonly Preset[];

  constructor(
    readonly settings: Topic<Settings>,
    private readonly languages: Languages,
    presets: readonly Preset[],
    spawn: () => WorkerPort,
  ) {
    this.presets = presets.map(({ id, values }) => ({ id, values: withoutDefaults(values, resolve(values)) }));
    this.#client = new Client(spawn, {
      answer: (answer, last) => { this.#answer(answer, last); },
      progress: (fraction) => { this.session.update({ progress: fraction }); },
      failed: (failures) => {
        this.failures.set(failures);
        this.session.update({ state: 'failed', progress: null });
      },
      cancelled: () => {
        this.session.update({ state: 'ready', progress: null });
        this.notices.info(() => this.text.t('notice.cancelled'));
      },
      restarted: (message) => { this.notices.error(() => this.text.t('notice.restarted', { message })); },
    });
    this.#address = new Address(
      { encode: encodeLink, parse: parseLink },
      () => ({ values: this.store.values.value, keys: this.#pageKeys() }),
      () => { this.#readAddress(); },
    );
    const { scenario, problems, keys } = this.#address.read();
    this.store = new Store(scenario, resolve);
    this.view = newView(keys.zoom, keys.by);
    this.#expectFile(keys.file);
    this.#tellProblems(problems);
    this.store.changes.subscribe((change) => {
      if (change === null) return;
      if (change.source !== 'history') this.history.record(change);
      this.#address.schedule();
      this.run();
    });
  }

  get text(): Text {
    return this.languages.of(this.settings.value.language);
  }

  start(module: WebAssembly.Module): void {
    this.#client.start(module);
    this.run();
  }

  // ---- the scenario ----

  /** A control was taken in hand: from now on the present answer is what changes are measured against. */
  touch(control: string): void {
    if (this.#ghost.touch(control)) this.session.update({ former: this.session.value.answer });
  }

  /** Sets one parameter; a value out of bounds is kept beside the control and not run. */
  set(id: string, value: ParameterValue | null): void {
    this.touch(id);
    const failure = value === null ? undefined : this.#objection(id, value);
    this.#draft(id, failure === undefined || value === null ? null : { value, failure });
    if (failure === undefined) this.store.edit({ [id]: value }, id);
  }

  /** Why `value` cannot be run. A choice may leave the scenario incomplete for a moment; a number may not. */
  #objection(id: string, value: ParameterValue): Failure | undefined {
    const { problems } = this.store.preview({ [id]: value }).resolved;
    const own = problems.find((problem) => problem.path === id);
    if (own !== undefined || typeof value === 'string' || typeof value === 'boolean') return own;
    const known = this.store.resolved.problems;
    return problems.find((problem) => !known.some(({ code, path }) => code === problem.code && path === problem.path));
  }

  reject(id: string, value: ParameterValue, failure: Failure): void {
    this.#draft(id, { value, failure });
  }

  edit(edit: Edit, source: Source): void {
    this.touch(source);
    this.store.edit(edit, source);
  }

  replace(values: Values, source: Source): void {
    this.touch(`${source} ${String(performance.now())}`);
    this.drafts.set(new Map());
    this.store.replace(values, source);
  }

  undo(): void {
    const values = this.history.undo();
    if (values !== null) this.replace(values, 'history');
  }

  redo(): void {
    const values = this.history.redo();
    if (values !== null) this.replace(values, 'history');
  }

  /** What is wrong with the parameter: what was typed, what the scenario says, or what the last run said. */
  problem(id: string): Failure | undefined {
    return this.drafts.value.get(id)?.failure
      ?? this.store.resolved.problems.find((problem) => problem.path === id)
      ?? this.failures.value.find((failure) => failure.path === id);
  }

  /** A failure away from its control, so with the control's name. */
  named(failure: Failure): string {
    const parameter = this.parameters.get(failure.path);
    const message = this.text.failure(failure);
    return parameter === undefined ? message : `${this.text.label(parameter)}: ${message}`;
  }

  isChanged(id: string): boolean {
    return !sameValue(this.store.resolved.values[id], this.store.resolved.defaults[id]);
  }

  // ---- the run ----

  run(): void {
    this.failures.set(NONE);
    this.session.update({ state: 'running' });
    this.#client.run({ scenario: this.store.values.value, values: this.store.resolved.values, options: this.options });
  }

  cancel(): boolean {
    const running = this.session.value.state === 'running';
    if (running) this.#client.cancel();
    return running;
  }

  get ask(): Client['ask'] {
    return this.#client.ask.bind(this.#client);
  }

  get options(): RunOptions {
    const { window, splitBy } = this.view.value;
    return { columns: COLUMNS, window, split_by: splitBy };
  }

  async loadTrace(file: File): Promise<void> {
    const bytes = new Uint8Array(await file.arrayBuffer());
    try {
      const trace = await this.#client.ask({ kind: 'load-trace', name: file.name, bytes });
      this.touch(`trace ${file.name}`);
      this.#missingFile = null;
      this.trace.set(trace);
      this.view.update({ window: null, selected: null });
      this.notices.info(() => this.text.t('notice.trace_loaded', { name: trace.name, requests: trace.requests }));
      this.#address.schedule();
      this.run();
    } catch (thrown) {
      const failures = thrown instanceof Refusal ? thrown.failures : [];
      this.notices.error(() => this.text.t('notice.trace_failed', { name: file.name, message: this.text.failures(failures) }));
    }
  }

  async clearTrace(): Promise<void> {
    await this.#client.ask({ kind: 'clear-trace' });
    this.touch('trace cleared');
    this.#missingFile = null;
    this.trace.set(null);
    this.view.update({ window: null, selected: null });
    this.#address.schedule();
    this.run();
  }

  // ---- the view ----

  async look(change: Partial<Pick<View, 'window' | 'splitBy'>>): Promise<void> {
    this.view.update(change);
    this.#address.schedule();
    const charts = await this.#client.ask({ kind: 'charts', options: this.options });
    const { answer } = this.session.value;
    if (answer !== null) this.session.update({ answer: { ...answer, charts: chartMap(charts) } });
    this.scheduler.invalidateAll();
  }

  async select(id: number | null): Promise<void> {
    this.view.update({ selected: id === null ? null : await this.#client.ask({ kind: 'request', id }) });
  }

  link(): string {
    this.#address.write();
    return this.#address.link();
  }

  async speak(language: Language): Promise<void> {
    try {
      await this.languages.load(language);
      setLanguage(this.settings, language);
      this.#address.schedule();
    } catch (thrown) {
      this.notices.error(() => this.text.t('notice.language_failed', { message: messageOf(thrown) }));
    }
  }

  paper(): Record<string, string> {
    return palette(this.settings.value.dark);
  }

  #answer(answer: Answer, last: boolean): void {
    this.stopwatch.answered(answer);
    this.session.update({ answer: shownOf(answer), ...(last ? { progress: null } : {}) });
    this.#undrawn = answer.preview || !last ? null : answer.summary.digest;
    if (this.view.value.selected !== null && !answer.preview) this.view.update({ selected: null });
    this.scheduler.invalidateAll();
  }

  #drawn(script_ms: number): void {
    const shown = this.session.value.answer;
    if (shown !== null) this.stopwatch.drawn(script_ms, shown.summary.requests.offered);
    if (this.#undrawn === null) return;
    document.documentElement.dataset['digest'] = this.#undrawn;
    this.#undrawn = null;
    this.session.update({ state: 'ready' });
    this.stopwatch.shown();
  }

  #draft(id: string, draft: { value: ParameterValue; failure: Failure } | null): void {
    if (draft === null && !this.drafts.value.has(id)) return;
    const drafts = new Map(this.drafts.value);
    if (draft === null) drafts.delete(id);
    else drafts.set(id, draft);
    this.drafts.set(drafts);
  }

  #pageKeys(): PageKeys {
    const { window, splitBy } = this.view.value;
    return {
      lang: this.settings.value.language === 'zh' ? 'zh' : null,
      zoom: window,
      by: splitBy === 'adapter' ? null : splitBy,
      file: this.trace.value?.name ?? this.#missingFile,
    };
  }

  #readAddress(): void {
    const { scenario, problems, keys } = this.#address.read();
    this.#expectFile(keys.file);
    this.view.update({ window: keys.zoom, splitBy: keys.by === 'length' ? 'length' : 'adapter' });
    this.#tellProblems(problems);
    this.replace(scenario, 'address');
    this.run();
  }

  #tellProblems(problems: readonly Failure[]): void {
    for (const problem of problems) {
      this.notices.error(() => this.text.t('notice.link_problem', { message: this.named(problem) }));
    }
  }

  #expectFile(name: string | null): void {
    this.#missingFile = name === this.trace.value?.name ? null : name;
    if (name !== null && this.#missingFile !== null) this.notices.error(() => this.text.t('notice.trace_wanted', { name }));
  }
}
