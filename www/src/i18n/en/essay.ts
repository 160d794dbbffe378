// The essay of Learn: what stands around its own words.
import { area } from '../area.js';

export const essay = area('essay', {
  'failed': 'The essay could not be fetched.',
  'again': 'Try again',
  'fetching': 'Loading the essay…',
  'contents': 'Figures of this essay',
  'lessons': 'Lessons',
  'explore': 'Open this in Explore',
  'embed': 'Copy embed code of this figure (iframe)',
  'embed.copied': 'Embed code copied. It shows this figure in another page.',
  'slower': 'played {times} times slower',
  'faster': 'played {times} times faster',
  'true_speed': 'played at true speed',
  'next': 'Go on:',
  'next.explore': 'Change every setting in Explore',
  'next.plan': 'Plan your own service',
  'next.validation': 'See measured deployments in Validation',
});
