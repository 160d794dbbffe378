// @vitest-environment happy-dom
import { render } from 'lit';
import { describe, expect, it } from 'vitest';
import type { App } from '../app/app.js';
import type { Language } from '../i18n/format.js';
import { defined } from './defined.js';

function explained(language: Language, text: string, reported = new Set<number>()): { words: string[]; shown: string } {
  const box = document.createElement('p');
  render(defined({ text: { language } } as unknown as App, text, reported), box);
  const words = [...box.querySelectorAll('.term')].map((term) => term.textContent);
  for (const hidden of box.querySelectorAll('.definition')) hidden.remove();
  return { words, shown: box.textContent };
}

describe('words of the glossary', () => {
  it('are explained once a screen, and the sentence stays as it is', () => {
    const reported = new Set<number>();
    const text = 'P99 TTFT grows: an iteration prefills 2,880 tokens, and the next iterations wait for that prefill.';
    expect(explained('en', text, reported)).toEqual({ words: ['P99', 'TTFT', 'iteration', 'prefill'], shown: text });
    expect(explained('en', text, reported)).toEqual({ words: [], shown: text });
  });

  it('are no parts of other words', () => {
    expect(explained('en', 'The blockade of swapping clientele.').words).toEqual([]);
  });

  it('are found in Chinese sentences', () => {
    const text = '一次迭代预填充 2,880 个 token，TTFT 的 P99 变长。';
    expect(explained('zh', '与 SpecDecode-Bench 相同。').words).toEqual([]);
    expect(explained('zh', text)).toEqual({ words: ['迭代', '预填充', 'TTFT', 'P99'], shown: text });
  });
});
