// Makes a figure of a chart: for a column of a paper, or a card with one sentence for a post; its caption, and how to cite it.
import { html, nothing, type TemplateResult } from 'lit';
import { LightElement } from '../app/element.js';
import type { Watchable } from '../lib/topic.js';
import { figure as texts } from '../i18n/en/figure.js';
import { palette } from '../simulation/module.js';
import { copied } from '../ui/copy.js';
import { originLines } from '../ui/run-origin.js';
import { chartSvg, download } from './export-chart.js';
import { signOf } from './legend.js';
import { escaped, pngWithText } from './picture-text.js';
import { xName, yName } from './read-out.js';
import type { ShownChart } from './shown-chart.js';
import { citation, version } from './cite.js';
import { drawingOf, figureSvg, FONT_POINTS, KINDS, type FigureKind } from './figure.js';
import './figure.css';

/** Dots of a printed column, and the width of the picture of a link. */
const PRINTED_DPI = 600;
const CARD_PX = 1200;
const POINTS = 8;

export class FigureDialog extends LightElement {
  static override properties = { ...LightElement.properties, kind: { state: true }, points: { state: true }, sentence: { state: true }, svg: { state: true }, done: { state: true } };
  declare kind: FigureKind;
  declare points: number;
  declare sentence: string;
  /** The figure, once it is drawn. */
  declare svg: string;
  /** Something was copied. */
  declare done: boolean;
  view: ShownChart | null = null;
  /** Counts drawings: an older one is dropped. */
  #drawings = 0;

  protected override watched(): Watchable[] {
    return [];
  }

  show(view: ShownChart, title: string): void {
    this.view = view;
    this.kind ??= KINDS[0] as FigureKind;
    this.points ??= POINTS;
    this.sentence = title;
    this.done = false;
    this.svg = '';
    this.requestUpdate();
    void this.updateComplete.then(() => { this.querySelector('dialog')?.showModal(); });
    void this.#draw();
  }

  get #isCard(): boolean {
    return this.kind.id === 'card';
  }

  get #name(): string {
    return `servescope-${(this.view?.name ?? '').replaceAll('_', '-')}`;
  }

  get #isOfRun(): boolean {
    return this.view?.source.of === 'run';
  }

  protected override render(): TemplateResult | typeof nothing {
    const { app, view } = this;
    if (view === null) return nothing;
    const t = app.text.say(texts);
    const button = (action: string, words: string, does: () => unknown): TemplateResult => html`<button type="button" data-action=${action} ?disabled=${this.svg === ''} @click=${() => { void does(); }}>${words}</button>`;
    return html`
      <dialog class="figure-dialog" aria-labelledby="figure-title" @keydown=${(event: KeyboardEvent) => { event.stopPropagation(); }}>
        <h2 id="figure-title">${t('title', { chart: view.source.title(view.name) })}</h2>
        <p class="figure-choices">
          <label>${t('kind')} <select data-item="kind" @change=${(event: Event) => { this.#choose({ kind: KINDS[(event.target as HTMLSelectElement).selectedIndex] ?? this.kind }); }}>
            ${KINDS.map((kind) => html`<option .selected=${kind === this.kind}>${t(`kind.${kind.id}`)}</option>`)}</select></label>
          <label>${t('points')} <select data-item="points" @change=${(event: Event) => { this.#choose({ points: FONT_POINTS[(event.target as HTMLSelectElement).selectedIndex] ?? POINTS }); }}>
            ${FONT_POINTS.map((points) => html`<option .selected=${points === this.points}>${t('points.of', { points })}</option>`)}</select></label>
          ${this.#isCard ? html`<label class="wide">${t('sentence')} <input type="text" data-item="sentence" .value=${this.sentence} @input=${(event: Event) => { this.#choose({ sentence: (event.target as HTMLInputElement).value }); }}></label>` : nothing}
        </p>
        <div class="figure-preview" role="img" aria-label=${t('preview')}>${this.#preview()}</div>
        <p>${button('svg', t('svg'), () => { this.#saveSvg(); })} ${button('png', t('png'), () => this.#savePng())}
          ${this.#isCard && this.#isOfRun ? button('html', t('copy.html'), () => this.#copy(this.#html())) : nothing}
          ${this.#isOfRun ? button('bibtex', t('copy.bibtex'), () => this.#copy(citation(app))) : nothing}</p>
        ${this.#isCard ? nothing : html`<label>${t('caption')}<textarea readonly rows="3">${this.#caption()}</textarea></label>`}
        <p class="figure-foot">${this.#isCard ? nothing : button('caption', t('copy.caption'), () => this.#copy(this.#caption()))}
          <span role="status">${this.done ? t('copied') : ''}</span>
          <button type="button" data-action="close" @click=${() => { this.querySelector('dialog')?.close(); }}>${t('close')}</button></p>
      </dialog>`;
  }

  #choose(chosen: Partial<Pick<FigureDialog, 'kind' | 'points' | 'sentence'>>): void {
    Object.assign(this, chosen);
    this.done = false;
    void this.#draw();
  }

  async #draw(): Promise<void> {
    const { app, view } = this;
    const chart = view?.drawn;
    if (view === null || chart === undefined) return;
    this.#drawings += 1;
    const drawing = this.#drawings;
    const size = drawingOf(this);
    const { text } = app;
    const { ghost, source, name } = view;
    const drawn = await chartSvg(app, { chart, ghost, dark: false, ...size, chinese: text.language === 'zh' });
    if (drawing !== this.#drawings) return;
    const colours = palette(false);
    const series = new Map((view.chart ?? chart).series.map((one) => [one.role, one]));
    const entries = [...series.values()].map(({ role, mark }) => ({ words: source.role(name, role), colour: colours[role] ?? '#888888', sign: signOf(mark, role) }));
    const former = ghost === null ? [] : [{ words: source.former?.() ?? text.t('role.former'), colour: '#9aa3ad', sign: signOf('line', '') }];
    const range = view.band === undefined ? [] : [{ words: text.t('role.band'), colour: '#d5d9de', sign: signOf('band', '') }];
    this.svg = figureSvg({
      kind: this.kind, points: this.points, sentence: this.#isCard ? this.sentence : null, entries: [...entries, ...former, ...range],
      yName: source.yName?.(name) ?? yName(text, chart), xName: source.xName?.(name) ?? xName(text, chart),
      source: this.#isCard && this.#isOfRun ? text.say(texts)('card.source', { version, digest: originLines(app)[1] }) : null, description: this.#origin().join('\n'),
    }, drawn, measure());
  }

  /** As nodes: styles and scripts in it would not be run in any case. */
  #preview(): Node | typeof nothing {
    if (this.svg === '') return nothing;
    const { documentElement: drawing } = new DOMParser().parseFromString(this.svg, 'image/svg+xml');
    return document.importNode(drawing, true);
  }

  #origin(): string[] {
    const { view, app } = this;
    return view === null ? [] : [view.source.title(view.name), ...(this.#isOfRun ? originLines(app) : [])];
  }

  #caption(): string {
    const [title = '', settings = '', digest = ''] = this.#origin();
    return this.app.text.say(texts)('caption.of', { title, settings, digest, version }).replaceAll(/ {2,}/gu, ' ');
  }

  #html(): string {
    const link = escaped(this.app.link());
    const [, , digest = ''] = this.#origin();
    return `<figure>\n${this.svg.trim()}\n<figcaption>${escaped(this.sentence)} <a href="${link}">${escaped(digest)}</a></figcaption>\n</figure>\n`;
  }

  #saveSvg(): void {
    download(`${this.#name}.svg`, new Blob([this.svg], { type: 'image/svg+xml' }));
  }

  async #savePng(): Promise<void> {
    const pixels = this.#isCard ? CARD_PX : Math.round((this.kind.width_mm / 25.4) * PRINTED_DPI);
    const png = new Uint8Array(await (await painted(this.svg, pixels)).arrayBuffer());
    download(`${this.#name}.png`, new Blob([pngWithText(png, 'Description', this.#origin().join('\n'))], { type: 'image/png' }));
  }

  async #copy(what: string): Promise<void> {
    this.done = await copied(this.app, what);
  }
}

/** Width of words at the size of the drawing's. */
function measure(): (words: string) => number {
  const pen = document.createElement('canvas').getContext('2d');
  if (pen !== null) pen.font = '11px Helvetica, Arial, sans-serif';
  return (words) => pen?.measureText(words).width ?? 6 * words.length;
}

async function painted(svg: string, width: number): Promise<Blob> {
  const address = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [width, Math.round((width * image.height) / image.width)];
    canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) => {
      canvas.toBlob((blob) => {
        if (blob === null) reject(new Error('the browser made no picture'));
        else resolve(blob);
      }, 'image/png');
    });
  } finally {
    URL.revokeObjectURL(address);
  }
}

customElements.define('figure-dialog', FigureDialog);

/** It is made when it is first asked for. */
export function showFigure(view: ShownChart, title: string): void {
  let dialog = document.querySelector<FigureDialog>('figure-dialog');
  if (dialog === null) {
    dialog = new FigureDialog();
    dialog.app = view.app;
    document.querySelector('servescope-page')?.append(dialog);
  }
  dialog.show(view, title);
}
