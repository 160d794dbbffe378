// Which of several figures the reader looks at: of those that cross the middle of the window, the one with most of it there.

/** Above and below the middle part of the window. */
const BAND = '-22% 0px -22% 0px';
const STEPS = Array.from({ length: 21 }, (_, index) => index / 20);

export interface Sighted { seen: ReadonlySet<Element>; current: Element | null }

export function sameSight(one: Sighted, other: Sighted): boolean {
  return one.current === other.current && one.seen.size === other.seen.size && [...one.seen].every((element) => other.seen.has(element));
}

/** The figure with most of it in the band; where several have as much, the first. */
export function most(heights: ReadonlyMap<Element, number>): Element | null {
  let [found, height]: [Element | null, number] = [null, 0];
  for (const [element, here] of heights) if (here > height + 1) [found, height] = [element, here];
  return found;
}

/** Calls `changed` whenever that changes, until the function that this gives is called. */
export function watchSight(elements: readonly Element[], changed: (sighted: Sighted) => void): () => void {
  const seen = new Set<Element>();
  const heights = new Map<Element, number>(elements.map((element) => [element, 0]));
  const report = (): void => { changed({ seen: new Set(seen), current: most(heights) }); };
  const sight = new IntersectionObserver((changes) => {
    for (const { target, isIntersecting } of changes) {
      if (isIntersecting) seen.add(target);
      else seen.delete(target);
    }
    report();
  });
  const band = new IntersectionObserver((changes) => {
    for (const { target, intersectionRect } of changes) heights.set(target, intersectionRect.height);
    report();
  }, { rootMargin: BAND, threshold: STEPS });
  for (const element of elements) {
    sight.observe(element);
    band.observe(element);
  }
  return () => {
    sight.disconnect();
    band.disconnect();
  };
}
