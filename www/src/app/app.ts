// The page's centre: it joins the scenario, the simulation, the address and what is on screen. Elements read its topics
// and call its methods; it knows none of them, and writes the digest of what is shown on the document.
import { Client, type Ask } from '../simulation/client.js';
import { Refusal, type WorkerPort } from '../simulation/worker-link.js';
import { encodeLink, palette, parseLink, resolve, schema } from '../simulation/module.js';
import type { Answer } from '../simulation/protocol.js';
import type { Start } from '../simulation/start.js';
import { codesOf, messageOf, NEEDS_NETWORK, type ChartData, type Diagnostic, type Parameter, type RunOptions, type Traffic } from '../simulation/types.js';
import { Scheduler } from './scheduler.js';
import { FoldedWork } from './folded.js';
import type { Languages } from '../i18n/languages.js';
import type { Text } from '../i18n/text.js';
import { lineCharts } from '../state/stations.js';
import { Stopwatch } from './stopwatch.js';
import { Address, type Embed, type PageKeys, type Pin, type Sweep, type Crossover } from '../state/address.js';
import { Belonging, type Setting } from '../state/belonging.js';
import { Editor } from '../state/editor.js';
import { Notices } from '../state/notices.js';
import { OnScreen } from '../state/on-screen.js';
import { presetOf, unknownPreset, withPreset, type Preset } from '../state/presets.js';
import { chartMap, Ghost, newSession, newView, placeName, placeOf, shownOf, splitOf, type Shown, type Tab, type View } from '../state/session.js';
import { isScreen, samePlace, type LessonPlace } from '../state/lesson-place.js';
import { setLanguage, type Settings } from '../state/settings.js';
import type { Language } from '../i18n/format.js';
import { withoutDefaults, type Store } from '../state/store.js';
import { sameValues, type Values } from '../simulation/values.js';
import { TraceFile } from '../studio/trace-file.js';
import { partsOf, Topic } from '../lib/topic.js';

/** The controls show a change with its answer; of a longer run they do not wait for it. */
const SHOW_AFTER_MS = 40;
/** Columns of the time charts: about one a pixel of the widest. */
const COLUMNS = 600;
const NONE: readonly Diagnostic[] = [];

/** A time that something points at; `plays`: it moves by itself. */
export interface Cursor { time: number; chart: string; plays?: boolean }

export class App {
  readonly schema = schema();
  readonly parameters: ReadonlyMap<string, Parameter> = new Map(this.schema.parameters.map((parameter) => [parameter.id, parameter]));
  readonly session = newSession();
  /** What the last run objected to. */
  readonly errors = new Topic<readonly Diagnostic[]>(NONE);
  /** The scenario as the controls show it: a browser moves a slider's thumb by itself, and what else is drawn then would
   * compete with the worker. */
  readonly shown: Topic<Values>;
  /** Whether what is on screen is of the settings in the controls. */
  readonly belonging = new Belonging(() => this.#setting);
  /** Settings that are kept to be compared with; the first is A. */
  readonly pins = new Topic<readonly Pin[]>([]);
  /** Metrics that are compared beside the usual ones. */
  readonly metrics = new Topic<readonly string[]>([]);
  /** What is swept; null where nothing is. */
  readonly sweep = new Topic<Sweep | null>(null);
  readonly crossover = new Topic<Crossover | null>(null);
  /** The step at which the scheduler debugger stands; null while it is closed. */
  readonly step = new Topic<number | null>(null);
  readonly cursor = new Topic<Cursor | null>(null);
  /** Ranges of the shown curves over further seeds, by chart. */
  readonly bands = new Topic<ReadonlyMap<string, ChartData>>(new Map());
  /** The time at which a request arrives that the picture of the run shall follow. */
  readonly follow = new Topic<{ time: number } | null>(null);
  readonly notices = new Notices();
  readonly stopwatch = new Stopwatch();
  readonly scheduler = new Scheduler((script_ms) => { this.#drawn(script_ms); });
  readonly folded = new FoldedWork(() => this.session.value.state === 'running');
  readonly editor: Editor;
  readonly traceFile: TraceFile;
  readonly view: Topic<View>;
  readonly presets: readonly Preset[];
  /** The preset that the present setting is or started from. */
  readonly origin = new Topic<string | null>(null);
  readonly #ghost = new Ghost();
  readonly #onScreen = new OnScreen({
    isBusy: () => this.#client.busy,
    shown: (digest) => { document.documentElement.dataset['digest'] = digest; },
    ready: () => {
      if (this.session.value.state === 'running') this.session.update({ state: 'ready' });
      this.stopwatch.shown();
    },
  });
  readonly #client: Client<Setting>;
  /** What the page shows alone, in a frame of another page. */
  readonly embed: Embed | null;
  readonly #address: Address;
  /** What the trace in place of generated requests carries. */
  #traffic: Traffic | null = null;
  /** Whether a link of the Validation tab was followed. */
  #leading = false;
  /** The settings before the first screen of a lesson was entered. */
  #beforeLesson: Values | null = null;
  /** The last result that is no preview: a cancelled run goes back to it. */
  #whole: { answer: Shown; setting: Setting } | null = null;
  #showing: ReturnType<typeof setTimeout> | null = null;
  /** The charts of the last answer that were in sight. */
  #seen: readonly ChartData[] = [];

  constructor(
    readonly settings: Topic<Settings>,
    private readonly languages: Languages,
    presets: readonly Preset[],
    spawn: () => WorkerPort,
  ) {
    languages.parameters = this.parameters;
    this.presets = presets.map((preset) => ({ ...preset, values: withoutDefaults(preset.values, resolve(preset.values)) }));
    this.#client = new Client(spawn, {
      answer: (answer, setting, last) => { this.#answer(answer, setting, last); },
      others: (charts) => { this.#others(charts); },
      progress: (fraction) => {
        // After a cancel, the worker goes back to the last result on its own.
        if (this.session.value.state === 'running') this.session.update({ progress: fraction });
      },
      failed: (errors) => {
        this.#show();
        this.errors.set(errors);
        this.belonging.ended('failed', errors);
        this.session.update({ state: 'failed', progress: null });
        if (this.belonging.stale.value === null) this.#tellLost(errors);
      },
      cancelled: () => { this.#cancelled(); },
      restarted: (why) => { this.notices.error('restarted', () => this.text.t('notice.restarted', { message: this.text.diagnostic(why) })); },
    });
    this.#address = new Address(
      { encode: encodeLink, parse: (hash) => this.#parse(hash) },
      () => ({ values: this.store.values.value, keys: this.#pageKeys() }),
      () => { this.#readAddress(); },
    );
    const { scenario, problems, keys } = this.#address.read();
    this.editor = new Editor(scenario, (values) => resolve(values, this.#traffic), (control) => { this.touch(control); });
    this.shown = new Topic(this.store.values.value);
    this.view = newView(keys.zoom, keys.by, keys.tab);
    this.traceFile = new TraceFile(this.ask, {
      loaded: (trace) => {
        this.notices.dismissErrors();
        this.notices.info('trace_loaded', () => this.text.t('notice.trace_loaded', { name: trace.name, requests: trace.requests }));
        this.#otherTraffic(`file ${String(performance.now())}`);
      },
      changed: (hand) => { this.#otherTraffic(hand); },
      cancelled: (name) => { this.notices.info('reading_cancelled', () => this.text.t('notice.reading_cancelled', { name })); },
      refused: (name, errors) => {
        this.notices.error(`trace_failed ${codesOf(errors)}`, () => this.text.t('notice.trace_failed', { name, message: this.text.diagnostics(errors) }));
      },
    });
    this.traceFile.info.subscribe(() => {
      this.#traffic = this.traceFile.info.value?.traffic ?? null;
      this.store.refresh();
    });
    this.embed = keys.embed;
    this.pins.set(keys.pins);
    this.metrics.set(keys.metrics);
    this.sweep.set(keys.sweep);
    this.crossover.set(keys.crossover);
    this.step.set(keys.step);
    for (const kept of [this.pins, this.metrics, this.sweep, this.crossover, this.step]) kept.subscribe(() => { this.#address.schedule(); });
    this.traceFile.expect(keys.file);
    if (keys.pipe !== null) void this.traceFile.reshape(keys.pipe);
    this.#tellProblems(problems);
    // What is compared with the present result is drawn behind it.
    // The clock of a lesson's picture is of that screen.
    let last = this.view.value;
    partsOf(this.view, ({ tab }) => tab, ({ lesson }) => lesson).subscribe(() => {
      if (last.lesson !== null) this.cursor.set(null);
      last = this.view.value;
    });
    partsOf(this.belonging.stale, (stale) => stale === null).subscribe(() => { this.scheduler.invalidateAll(); });
    this.editor.drafts.subscribe(() => { this.belonging.look(); });
    this.session.subscribe(() => { this.folded.wake(); });
    this.#setOrigin(keys.preset);
    this.store.values.subscribe(() => {
      this.#setOrigin(this.origin.value);
      this.run();
      this.#showing ??= setTimeout(() => { this.#show(); }, SHOW_AFTER_MS);
    });
    this.store.changes.subscribe(() => { this.#address.schedule(); });
  }

  get store(): Store {
    return this.editor.store;
  }

  get text(): Text {
    return this.languages.of(this.settings.value.language);
  }

  start(start: Start): void {
    this.#client.start(start);
    this.run();
  }

  /** A control was taken in hand: from now on the present answer is what changes are measured against. */
  touch(control: string): void {
    if (this.#ghost.touch(control)) this.session.update({ former: this.session.value.answer });
  }

  /** What is wrong with a parameter, the last run's own objections included. */
  problem(id: string): Diagnostic | undefined {
    const { value } = this.errors;
    return this.editor.problem(id) ?? (value.length === 0 ? undefined : value.find((error) => error.path === id));
  }

  /** A diagnostic away from its control, so with the control's name. */
  named(diagnostic: Diagnostic): string {
    const parameter = this.parameters.get(diagnostic.path);
    const message = this.text.diagnostic(diagnostic);
    return parameter === undefined ? message : `${this.text.label(parameter)}: ${message}`;
  }

  run(): void {
    // First of all: what follows happens while the worker computes.
    // What was typed and cannot be run is not run.
    const setting: Setting = { ...this.#setting, drafts: new Map() };
    if (setting.missing !== null) {
      this.#client.cancel();
      this.#withoutFile();
      return;
    }
    const charts = this.scheduler.inSight()?.concat(lineCharts(this.cursor.value !== null)) ?? null;
    const options = { ...this.options, in_sight: charts };
    this.#client.run({ setting, values: this.store.resolved.values, options });
    this.stopwatch.asked();
    this.errors.set(NONE);
    this.belonging.began();
    this.session.update({ state: 'running' });
  }

  /** Takes the controls back to the settings of the shown result. */
  async back(): Promise<void> {
    const { shown } = this.belonging;
    if (shown === null) return;
    const { traffic } = this.#setting;
    this.traceFile.expect(null);
    const same = sameValues(shown.values, this.store.values.value);
    this.editor.replace(shown.values, 'back');
    if (same) this.run();
    if (shown.traffic.info !== traffic.info) await this.traceFile.takeUp(shown.traffic);
    this.#address.schedule();
  }

  /** Runs without the file that the link names. */
  withoutFile(): void {
    this.traceFile.expect(null);
    this.#address.schedule();
    this.run();
  }

  /** With a network, what a run lacked may be there. */
  runWithNetwork(): void {
    if (this.errors.value.some(({ code }) => NEEDS_NETWORK.includes(code))) this.run();
  }

  cancel(): boolean {
    void this.traceFile.cancel();
    const running = this.session.value.state === 'running';
    if (running) this.#client.cancel();
    return running;
  }

  get ask(): Ask {
    return this.#client.ask.bind(this.#client);
  }

  get options(): RunOptions {
    const { window, splitBy } = this.view.value;
    return { columns: COLUMNS, window, split_by: splitBy, in_sight: null };
  }

  async look(change: Partial<Pick<View, 'window' | 'splitBy'>>): Promise<void> {
    this.view.update(change);
    this.#address.schedule();
    const charts = await this.#answered(this.#client.ask({ kind: 'charts', options: this.options }));
    const { answer } = this.session.value;
    if (charts === null || answer === null) return;
    this.session.update({ answer: { ...answer, charts: chartMap(charts) } });
    this.scheduler.invalidateAll();
  }

  /** A link of the Validation tab is followed: what it opens says where it comes from. */
  followed(): void {
    this.#leading = true;
  }

  /** Goes to a tab; the Back button leads back. The list of lessons is shown with the settings from before the lesson. */
  show(tab: Tab): void {
    const isBack = tab === 'learn' && isScreen(this.view.value.lesson);
    this.#address.visit(() => {
      if (isBack) this.editor.replace(this.#beforeLesson ?? {}, 'lesson');
      this.view.update({ tab, lesson: null });
    });
    if (isBack) this.#compareWithNone();
    // What was out of sight is drawn when it comes into sight.
    this.scheduler.invalidateAll();
  }

  /** Takes a preset, or other values, to where they are shown; the Back button leads back. */
  take({ values, story }: Pick<Preset, 'values' | 'story'>): void {
    const view = story?.view;
    this.#address.visit(() => {
      this.view.update({ tab: 'explore', lesson: null, window: view?.zoom ?? null, ...(view === undefined ? {} : { splitBy: view.by }) });
      const before = this.store.values.value;
      this.editor.replace(values, 'preset');
      // Without another run, the charts are built anew for what is looked at.
      if (this.store.values.value === before) void this.look({});
    });
    this.#compareWithNone();
    this.scheduler.invalidateAll();
  }

  /** Takes settings over in a tab; the Back button leads back to those before. */
  adopt(values: Values, tab: Tab): void {
    this.#address.visit(() => {
      this.editor.replace(values, 'preset');
      this.view.update({ tab, lesson: null });
    });
    this.scheduler.invalidateAll();
  }

  /** Goes to a screen of a lesson; its run comes with it where the lesson is known. */
  learn(lesson: LessonPlace, values: Values | null = null): void {
    if (this.view.value.tab === 'learn' && samePlace(this.view.value.lesson, lesson)) return;
    if (!isScreen(this.view.value.lesson)) this.#beforeLesson = this.store.values.value;
    this.#address.visit(() => {
      if (values !== null) this.editor.replace(values, 'lesson');
      this.view.update({ tab: 'learn', lesson });
    });
    this.#compareWithNone();
    this.scheduler.invalidateAll();
  }

  /** Scrolling is no visit: the Back button leads to where the reader came from. */
  scrolledTo(lesson: LessonPlace): void {
    this.view.update({ lesson });
    this.#address.schedule();
  }

  /** Another preset or link is no change of the setting before it. */
  #compareWithNone(): void {
    this.session.update({ former: null });
  }

  #setOrigin(from: string | null): void {
    this.origin.set(presetOf(this.presets, this.store.values.value)?.id ?? this.presets.find(({ id }) => id === from)?.id ?? null);
  }

  /** Unfolds the traffic source of Explore, or folds it. */
  showSource(source: boolean): void {
    if (this.view.value.source === source) return;
    this.view.update({ source });
    this.#address.schedule();
    // What was out of sight is drawn when it comes into sight.
    this.scheduler.invalidateAll();
  }

  async select(id: number | null): Promise<void> {
    this.view.update({ selected: id === null ? null : await this.#answered(this.#client.ask({ kind: 'request', id })) });
  }

  /** A question about a run that is gone (its worker died) has no answer; the next run gives one. */
  async #answered<T>(asked: Promise<T>): Promise<T | null> {
    try {
      return await asked;
    } catch (thrown) {
      if (thrown instanceof Refusal) return null;
      throw thrown;
    }
  }

  link(): string {
    this.#address.write();
    return this.#address.link();
  }

  /** The link with another choice of what is shown alone; null shows the whole page. */
  linkShowing(embed: Embed | null): string {
    return this.#address.linkWith({ embed });
  }

  async speak(language: Language): Promise<void> {
    try {
      await this.languages.load(language);
      setLanguage(this.settings, language);
      this.#address.schedule();
    } catch (thrown) {
      this.notices.error('language_failed', () => this.text.t('notice.language_failed', { message: messageOf(thrown) }));
    }
  }

  paper(): Record<string, string> {
    return palette(this.settings.value.dark);
  }

  get #setting(): Setting {
    return { values: this.store.values.value, traffic: this.traceFile.traffic, missing: this.traceFile.missing.value, drafts: this.editor.drafts.value };
  }

  /** Nothing is run that is not what the link means. */
  #withoutFile(): void {
    this.#show();
    this.errors.set(NONE);
    this.belonging.ended('file');
    this.session.update({ state: 'failed', progress: null });
  }

  /** The shown result is that of the settings, and yet nothing simulates any more: questions about it have no answer. */
  #tellLost(errors: readonly Diagnostic[]): void {
    const again = (): void => {
      this.notices.dismissErrors();
      this.run();
    };
    this.notices.error(`lost ${codesOf(errors)}`, () => this.text.t('notice.lost', { message: this.text.diagnostics(errors) }), { label: 'stale.run', run: again });
  }

  #cancelled(): void {
    if (this.traceFile.missing.value !== null) return;
    this.#show();
    const back = this.session.value.answer?.preview === true ? this.#whole : null;
    this.belonging.ended('cancelled', NONE, back?.setting);
    this.session.update({ state: 'ready', progress: null, ...(back === null ? {} : { answer: back.answer }) });
    this.scheduler.invalidateAll();
  }

  #show(): void {
    if (this.#showing === null) return;
    clearTimeout(this.#showing);
    this.#showing = null;
    this.shown.set(this.store.values.value);
  }

  #answer(answer: Answer, setting: Setting, last: boolean): void {
    this.stopwatch.answered(answer);
    this.#show();
    this.#seen = answer.charts;
    const shown = shownOf(answer, this.session.value.answer);
    if (!answer.preview) this.#whole = { answer: shown, setting };
    this.belonging.answered(setting, !answer.preview, last);
    this.session.update({ answer: shown, ...(last ? { progress: null } : {}) });
    this.#onScreen.draws(answer.preview || !last || answer.more ? null : answer.summary.digest);
    if (this.view.value.selected !== null && !answer.preview) this.view.update({ selected: null });
    // The view was changed while this run was under way.
    if (last && !sameView(answer.options, this.options)) void this.look({});
    this.scheduler.invalidateAnswered();
  }

  /** Charts out of sight, which are not waited for. */
  #others(charts: readonly ChartData[]): void {
    const { answer } = this.session.value;
    if (answer === null) return;
    const shown = { ...answer, charts: chartMap([...this.#seen, ...charts]) };
    if (this.#whole !== null) this.#whole.answer = shown;
    this.session.update({ answer: shown });
    this.#onScreen.draws(answer.summary.digest);
    this.scheduler.invalidateNamed(new Set(charts.map(({ name }) => name)));
  }

  /** A file instead of the generator, other steps, or the way back: the former zoom means nothing any more. */
  #otherTraffic(hand: string): void {
    this.touch(hand);
    this.view.update({ window: null, selected: null });
    this.#address.schedule();
    this.run();
  }

  #drawn(script_ms: number): void {
    const shown = this.session.value.answer;
    if (shown !== null) this.stopwatch.drawn(script_ms, shown.summary.requests.offered);
    this.#onScreen.drawn();
  }

  #pageKeys(): PageKeys {
    const { window, splitBy } = this.view.value;
    return {
      tab: placeName(this.view.value),
      lang: this.settings.value.language === 'zh' ? 'zh' : null,
      preset: presetOf(this.presets, this.store.values.value) === undefined ? this.origin.value : null,
      zoom: window,
      by: splitBy === 'adapter' ? null : splitBy,
      file: this.traceFile.name,
      pipe: this.traceFile.pipe.value,
      pins: this.pins.value,
      metrics: this.pins.value.length === 0 ? [] : this.metrics.value,
      sweep: this.sweep.value,
      crossover: this.crossover.value,
      step: this.step.value,
      embed: this.embed,
    };
  }

  #readAddress(): void {
    const { scenario, problems, keys } = this.#address.read();
    const place = placeOf(keys.tab);
    if (this.#leading && place.tab === 'explore') this.notices.offer('opened_from_validation', () => this.text.t('notice.opened_from_validation'), 'notice.back_to_validation', () => { this.show('validation'); });
    this.#leading = false;
    this.traceFile.expect(keys.file);
    this.pins.set(keys.pins);
    this.metrics.set(keys.metrics);
    this.sweep.set(keys.sweep);
    this.crossover.set(keys.crossover);
    this.step.set(keys.step);
    this.view.update({ ...place, window: keys.zoom, splitBy: splitOf(keys.by) });
    this.#tellProblems(problems);
    this.editor.replace(scenario, 'address');
    this.#setOrigin(keys.preset);
    this.#compareWithNone();
    this.run();
  }

  #parse(hash: string): ReturnType<typeof parseLink> {
    const { problems, ...read } = parseLink(withPreset(hash, this.presets, encodeLink));
    return { ...read, problems: [...unknownPreset(hash, this.presets), ...problems] };
  }

  #tellProblems(problems: readonly Diagnostic[]): void {
    if (problems.length === 0) return;
    // What was refused does not stay in the address.
    this.#address.schedule();
    this.notices.error('link_problem', () => this.text.t('notice.link_problem', { count: problems.length, message: this.text.diagnostics(withPartsAsOne(problems, this.text), (problem) => this.named(problem)) }));
  }
}

/** One sentence for all parts of a link that mean nothing. */
function withPartsAsOne(problems: readonly Diagnostic[], text: Text): readonly Diagnostic[] {
  const isPart = ({ code }: Diagnostic): boolean => code === 'bad_link';
  const [first, ...rest] = problems.filter(isPart);
  if (first === undefined || rest.length === 0) return problems;
  const part = text.list([first, ...rest].map(({ params }) => String(params['part'])));
  return [{ ...first, params: { ...first.params, part } }, ...problems.filter((problem) => !isPart(problem))];
}

function sameView(one: RunOptions, other: RunOptions): boolean {
  return one.split_by === other.split_by && String(one.window) === String(other.window);
}
