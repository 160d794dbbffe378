// Sets CSS custom properties through the object model: the content security policy forbids style attributes.
import { noChange, type ElementPart } from 'lit';
import { Directive, directive, PartType, type PartInfo } from 'lit/directive.js';

type Vars = Readonly<Record<`--${string}`, string>>;

class VarsDirective extends Directive {
  constructor(part: PartInfo) {
    super(part);
    if (part.type !== PartType.ELEMENT) throw new Error('vars() stands on an element');
  }

  /** Its parameter types the directive's call; the work is done by `update`. */
  override render(vars: Vars): Vars {
    return vars;
  }

  override update(part: ElementPart, [vars]: [Vars]): typeof noChange {
    const { style } = part.element as HTMLElement | SVGElement;
    for (const [name, value] of Object.entries(vars)) style.setProperty(name, value);
    return noChange;
  }
}

export const vars = directive(VarsDirective);
