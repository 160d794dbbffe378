// The canvas of a picture: as many dots as the screen has, columns as wide as those of the numbers below, and marks that move.
import { drawPicture, type Picture } from './hero-picture.js';
import { layoutOf, type Layout } from './layout.js';
import { Motion } from './motion.js';

export class PictureCanvas {
  readonly #motion = new Motion();
  #columns: { width: number; shares: readonly number[] } | null = null;

  /** Draws into the canvas of an element, whose style sets the columns; returns what was drawn, or null where there is no room. */
  draw(element: HTMLElement, size: { width: number; height: number }, given: Omit<Picture, 'shares'>, plays: boolean): Layout | null {
    const canvas = element.querySelector('canvas');
    const to = canvas?.getContext('2d');
    if (canvas === null || to === null || to === undefined || size.width === 0) return null;
    const [wide, high] = [Math.round(size.width * devicePixelRatio), Math.round(size.height * devicePixelRatio)];
    if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
    to.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    const picture = { ...given, shares: this.#shares(element, size.width) };
    const layout = layoutOf(size, picture.moment, picture);
    drawPicture(to, size, picture, layout, this.#motion.at(layout.marks, performance.now(), plays));
    return layout;
  }

  /** Read once for each width. */
  #shares(element: HTMLElement, width: number): readonly number[] {
    if (this.#columns?.width !== width) this.#columns = { width, shares: getComputedStyle(element).getPropertyValue('--stations').split('fr').map(Number.parseFloat).filter(Number.isFinite) };
    return this.#columns.shares;
  }
}
