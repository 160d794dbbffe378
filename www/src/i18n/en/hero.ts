// The picture of the service at one time of the run.
import { area } from '../area.js';

export const hero = area('hero', {
  'label': 'The service at one time of the run',
  'time': 'Time of the picture',
  'play': 'Play the run',
  'pause': 'Pause',
  'at': '{time} of {end}',
  'why.longest': 'longest queue',
  'why.fullest': 'largest batch',
  'phase.queue': 'waiting',
  'phase.prefill': 'prefill',
  'phase.decode': 'decode',
  'phase.stalled': 'stalled (others’ prefill)',
  'user': 'user {id}',
  'kv': 'KV {share}',
  'adapters': 'adapters',
  'idle': 'idle',
  'loading': 'loads adapters',
  'iteration': '{time}',
  'sentence': '{time}: {held} held by the gateway, {waiting} waiting, {running} in the batch ({prefill} in prefill), memory {share}',
});
