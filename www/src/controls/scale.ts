// Between a parameter's value and the place of a slider's thumb. A linear slider counts in the parameter's own unit; a
// logarithmic one in equal ratios, rounded to what a person would write.
import type { SliderRange } from '../simulation/types.js';

const LOG_STEPS = 240;

export type Stride = 'fine' | 'coarse' | 'big';
const LOG_STRIDE: Record<Stride, number> = { fine: 1, coarse: 10, big: 40 };
/** Parts of the range; a fine stride is one step. */
const LINEAR_STRIDE: Record<Exclude<Stride, 'fine'>, number> = { coarse: 0.1, big: 0.25 };
/** A thumb let go this near to a mark, as part of the range, lands on it. */
const SNAP = 0.012;

export interface ThumbRange { min: number; max: number; step: number }

export class Scale {
  constructor(private readonly range: SliderRange, private readonly integer: boolean) {}

  get thumb(): ThumbRange {
    const { min, max, step } = this.range;
    return this.#log ? { min: 0, max: LOG_STEPS, step: 1 } : { min, max, step };
  }

  toThumb(value: number): number {
    const inside = Math.min(this.range.max, Math.max(this.range.min, value));
    return this.#log ? this.#part(inside) * LOG_STEPS : inside;
  }

  fromThumb(thumb: number): number {
    if (!this.#log) return this.#round(thumb);
    const { min, max } = this.range;
    if (thumb <= 0) return min;
    if (thumb >= LOG_STEPS) return max;
    const part = thumb / LOG_STEPS;
    const value = min > 0 ? min * Math.pow(max / min, part) : min + Math.expm1(part * Math.log1p(max - min));
    return this.#round(value);
  }

  /** Place of `value` along the track, 0..1. */
  part(value: number): number {
    const { min, max } = this.range;
    return this.#log ? this.#part(value) : (value - min) / (max - min);
  }

  /** The mark that the thumb is next to, or the value itself. */
  snap(value: number, marks: readonly number[]): number {
    const at = this.part(value);
    return marks.find((mark) => Math.abs(this.part(mark) - at) < SNAP) ?? value;
  }

  /** The next value a key goes to; always another one, except at the ends. */
  next(value: number, direction: 1 | -1, stride: Stride): number {
    const { min, max, step } = this.range;
    if (!this.#log) {
      const steps = stride === 'fine' ? 1 : Math.max(2, Math.round(((max - min) / step) * LINEAR_STRIDE[stride]));
      const by = steps * step;
      return this.#round(Math.min(max, Math.max(min, value + direction * by)));
    }
    let thumb = Math.round(this.toThumb(value));
    for (;;) {
      thumb += direction * LOG_STRIDE[stride];
      const there = this.fromThumb(thumb);
      if ((there - value) * direction > 0) return there;
      if (thumb <= 0 || thumb >= LOG_STEPS) return direction > 0 ? max : min;
    }
  }

  get #log(): boolean {
    return this.range.scale === 'log';
  }

  #part(value: number): number {
    const { min, max } = this.range;
    if (min > 0) return Math.log(value / min) / Math.log(max / min);
    return Math.log1p(Math.max(0, value - min)) / Math.log1p(max - min);
  }

  #round(value: number): number {
    const { min, max, step } = this.range;
    if (this.integer) return Math.round(this.#log ? threeDigits(value) : snapTo(value, min, step));
    const rounded = this.#log ? threeDigits(value) : snapTo(value, min, step);
    return Math.min(max, Math.max(min, rounded));
  }
}

function threeDigits(value: number): number {
  return Number(value.toPrecision(3));
}

/** On the grid of `step`; the last cut takes off what binary fractions leave behind. */
function snapTo(value: number, min: number, step: number): number {
  return Number((min + Math.round((value - min) / step) * step).toPrecision(12));
}
