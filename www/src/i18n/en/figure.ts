// The dialog that makes a figure of a chart, and citations.
import { area } from '../area.js';

export const figure = area('figure', {
  'title': 'Figure of “{chart}”',
  'kind': 'Size',
  'kind.single': 'one column, 84 mm',
  'kind.double': 'two columns, 176 mm',
  'kind.card': 'card for a post',
  'points': 'Text size',
  'points.of': '{points} pt',
  'sentence': 'The finding, in one sentence',
  'preview': 'Preview',
  'caption': 'Caption',
  'caption.of': '{title}. {settings}. {digest}. Servescope {version}.',
  'card.source': 'Servescope {version}, {digest}',
  'svg': 'Save SVG',
  'png': 'Save PNG',
  'copy.caption': 'Copy caption',
  'copy.html': 'Copy HTML',
  'copy.bibtex': 'Copy BibTeX',
  'copied': 'Copied.',
  'close': 'Close',
});
