// A request of the reader's own.
import { area } from '../area.js';

export const ownRequest = area('own_request', {
  'about': 'Sets the length, the time, the user and the adapter of one more request. The run is simulated again with it; the other requests are the same.',
  'input_tokens': 'Prompt (tokens)',
  'output_tokens': 'Output (tokens)',
  'time_s': 'Sent at (s)',
  'user': 'User (index)',
  'adapter': 'Adapter (index; −1: base model)',
  'send': 'Send',
  'send_again': 'Send in its place',
  'take_back': 'Remove it',
  'completed': 'Your request (number {id}) found {ahead} {ahead|request|requests} waiting and {running} running. Its first token came after {ttft}, its last after {e2e}.',
  'ended': 'Your request (number {id}) did not complete: {outcome}.',
  'follow': 'Follow it in the picture',
  'card': 'Why it took so long',
});
