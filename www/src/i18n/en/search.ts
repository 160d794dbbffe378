// The search over the page, its parameters, charts, lessons and presets, the glossary and the documentation.
import { area } from '../area.js';

export const search = area('search', {
  'label': 'Search the page and the documentation',
  'placeholder': 'Search, e.g. H100, cheapest, speculative decoding',
  'found': '{count} {count|result|results}',
  'none': 'Nothing found for “{query}”.',
  'hint': 'Arrow keys choose, Enter goes there, Esc closes.',
  'kind.parameter': 'parameter',
  'kind.chart': 'chart',
  'kind.preset': 'preset',
  'kind.term': 'glossary',
  'kind.limit': 'limit',
  'kind.section': 'section',
  'kind.lesson': 'lesson',
  'kind.docs': 'documentation',
});
