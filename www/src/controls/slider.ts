// A slider with its marks. Keys: arrows fine, Shift coarse, Page keys big, double click the default.
import { html, type TemplateResult } from 'lit';
import { live } from 'lit/directives/live.js';
import type { App } from '../app/app.js';
import type { Parameter, SliderRange } from '../simulation/types.js';
import { vars } from '../ui/style-vars.js';
import { Scale, type Stride } from './scale.js';

interface Slider {
  /** Where its moves are told. */
  app: Pick<App, 'text' | 'touch'> & { stopwatch: Pick<App['stopwatch'], 'moved'> };
  parameter: Parameter;
  /** What it is called, where that is not the parameter's own name. */
  label?: string;
  range: SliderRange;
  value: number;
  /** The value as it is by now: keys may follow each other faster than the slider is drawn. */
  now: () => number;
  disabled: boolean;
  set: (value: number) => void;
  reset: () => void;
}

const percent = (part: number): string => `${(Math.min(1, Math.max(0, part)) * 100).toFixed(2)}%`;

export function slider({ app, parameter, label, range, value, now, disabled, set, reset }: Slider): TemplateResult {
  const scale = new Scale(range, parameter.type === 'integer');
  const { min, max, step } = scale.thumb;
  const marks = parameter.marks.filter((mark) => mark.value >= range.min && mark.value <= range.max);

  const moved = (event: Event): void => {
    app.stopwatch.moved();
    const dragged = scale.fromThumb(Number((event.target as HTMLInputElement).value));
    set(scale.snap(dragged, marks.map((mark) => mark.value)));
  };
  const pressed = (event: KeyboardEvent): void => {
    const move = strideOf(event);
    if (move === null) return;
    event.preventDefault();
    app.stopwatch.moved();
    set(scale.next(now(), move.direction, move.stride));
  };

  return html`
    <div class="slider">
      <input type="range" ${vars({ '--fill': percent(scale.part(value)) })} min=${min} max=${max} step=${step} .value=${live(String(scale.toThumb(value)))} ?disabled=${disabled}
        aria-label=${label ?? app.text.label(parameter)} aria-valuetext=${app.text.value(parameter, value)}
        @pointerdown=${() => { app.touch(parameter.id); }} @input=${moved} @keydown=${pressed} @dblclick=${reset}>
      <div class="marks" aria-hidden="true" ?hidden=${marks.length === 0}>
        ${marks.map((mark) => html`<span ${vars({ '--at': percent(scale.part(mark.value)) })}>${app.text.mark(mark.message)}</span>`)}
      </div>
    </div>`;
}

function strideOf({ key, shiftKey, ctrlKey, altKey, metaKey }: KeyboardEvent): { direction: 1 | -1; stride: Stride } | null {
  if (ctrlKey || altKey || metaKey) return null;
  switch (key) {
    case 'ArrowRight': case 'ArrowUp': return { direction: 1, stride: shiftKey ? 'coarse' : 'fine' };
    case 'ArrowLeft': case 'ArrowDown': return { direction: -1, stride: shiftKey ? 'coarse' : 'fine' };
    case 'PageUp': return { direction: 1, stride: 'big' };
    case 'PageDown': return { direction: -1, stride: 'big' };
    default: return null;
  }
}
