import { beforeEach, describe, expect, it } from 'vitest';
import { History } from './history.js';

let now = 0;
let history: History;
const change = (from: number, to: number, source: string): void => {
  history.record({ before: { x: from }, after: { x: to }, source });
};

beforeEach(() => {
  now = 0;
  history = new History(() => now);
});

describe('History', () => {
  it('undoes and redoes', () => {
    change(0, 1, 'x');
    now = 1000;
    change(1, 2, 'x');
    expect(history.undo()).toEqual({ x: 1 });
    expect(history.undo()).toEqual({ x: 0 });
    expect(history.undo()).toBeNull();
    expect(history.redo()).toEqual({ x: 1 });
    expect(history.redo()).toEqual({ x: 2 });
    expect(history.redo()).toBeNull();
  });

  it('makes one step of a drag', () => {
    for (let at = 0; at < 10; at += 1) {
      now = at * 100;
      change(at, at + 1, 'x');
    }
    expect(history.undo()).toEqual({ x: 0 });
    expect(history.reach.value).toEqual({ undo: false, redo: true });
  });

  it('keeps two controls apart, however fast', () => {
    change(0, 1, 'x');
    change(1, 2, 'y');
    expect(history.undo()).toEqual({ x: 1 });
  });

  it('starts a new step after half a second', () => {
    change(0, 1, 'x');
    now = 600;
    change(1, 2, 'x');
    expect(history.undo()).toEqual({ x: 1 });
  });

  it('forgets what was undone once something new is done', () => {
    change(0, 1, 'x');
    history.undo();
    change(0, 5, 'x');
    expect(history.redo()).toBeNull();
    expect(history.undo()).toEqual({ x: 0 });
  });

  it('does not merge into a step that was redone', () => {
    change(0, 1, 'x');
    history.undo();
    history.redo();
    change(1, 2, 'x');
    expect(history.undo()).toEqual({ x: 1 });
  });
});
