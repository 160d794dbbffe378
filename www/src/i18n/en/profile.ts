// Profiles of one’s own.
import { area } from '../area.js';

export const profile = area('profile', {
  'title': 'Use your own measurements',
  'about': 'Files of Vidur’s profiler, chosen or dropped together: mlp.csv, and if there are any attention.csv, all_reduce.csv, send_recv.csv, cpu_overheads.csv; or a profile that was fitted before. They stay on this machine, and no link carries them.',
  'model': 'Model',
  'layers': 'Layers',
  'gpu': 'GPU',
  'choose': 'Choose files…',
  'fitting': 'Fitting…',
  'in_use': 'In use: {name}, {model} on {gpu}, tensor parallelism {degrees}.',
  'download': 'Download the profile',
  'back': 'Back to the built-in profile',
  'table': 'Error of the fit against your medians',
  'unknown': 'This profile was fitted before and does not contain the error of each operator.',
  'degree': 'TP',
  'operator': 'Operator',
  'origin': 'Origin',
  'median': 'Median',
  'p95': 'P95',
  'percent': '{share} %',
  'none': '–',
  'measured': 'measured',
  'reconstructed': 'reconstructed',
  'synthetic': 'synthetic',
  'modelled': 'modelled',
});
