import { describe, expect, it, vi } from 'vitest';
import { partsOf, Topic } from './topic.js';

describe('partsOf', () => {
  it('tells of the parts that were named, and of nothing else', () => {
    const topic = new Topic({ state: 'ready', answer: { digest: 'a' }, progress: 0 });
    const heard = vi.fn();
    const forget = partsOf(topic, ({ answer }) => answer, ({ progress }) => progress).subscribe(heard);
    topic.update({ state: 'running' });
    expect(heard).not.toHaveBeenCalled();
    topic.update({ answer: { digest: 'b' } });
    topic.update({ state: 'ready' });
    topic.update({ progress: 1 });
    expect(heard).toHaveBeenCalledTimes(2);
    forget();
    topic.update({ progress: 2 });
    expect(heard).toHaveBeenCalledTimes(2);
  });

  it('hears of a change that comes after it was subscribed to, not of one before', () => {
    const topic = new Topic({ value: 1 });
    const part = partsOf(topic, ({ value }) => value);
    topic.update({ value: 2 });
    const heard = vi.fn();
    part.subscribe(heard);
    topic.update({ value: 2 });
    expect(heard).not.toHaveBeenCalled();
    topic.update({ value: 1 });
    expect(heard).toHaveBeenCalledOnce();
  });
});
