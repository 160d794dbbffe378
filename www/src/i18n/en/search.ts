// The search over parameters, charts, presets and the glossary.
import { area } from '../area.js';

export const search = area('search', {
  'label': 'Search parameters, charts and glossary',
  'placeholder': 'Search, e.g. H100, preemption, TTFT',
  'found': '{count} {count|result|results}',
  'none': 'Nothing found for “{query}”.',
  'hint': 'Arrow keys choose, Enter goes there, Esc closes.',
  'kind.parameter': 'parameter',
  'kind.chart': 'chart',
  'kind.preset': 'preset',
  'kind.term': 'glossary',
});
