// The help but for the glossary, whose rows are generated from docs/glossary.json.
import { area } from '../area.js';

export const help = area('help', {
  'title': 'Help',
  'intro': 'Drag a slider: the service is simulated again with the new value, and every chart shows the former result faintly behind the new one.',
  'cite': 'How to cite',
  'documentation': 'Documentation: a tutorial, the model, every parameter, file formats, validation',
  'offline.kept': 'This page works without a network, too: a copy of it is kept in this browser.',
  'offline.failed': 'This page needs a network: no copy of it could be kept ({message}).',
  'shortcuts': 'Shortcuts',
  'undo': 'undo, redo',
  'cancel': 'stop the run in progress; in a chart: reset the zoom',
  'search': 'search parameters, charts and glossary',
  'help': 'this help',
  'arrows': 'a slider in fine steps; with Shift in coarse ones; Page keys in big ones; on a chart: the cursor',
  'double': 'on a slider or its label: back to the default; on a chart: reset the zoom',
  'key_double': 'Double click',
  'key_arrows': 'Arrow keys',
  'glossary': 'Glossary',
  'close': 'Close',
});
