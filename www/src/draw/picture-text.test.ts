import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { escaped, pngWithText } from './picture-text.js';

/** The smallest PNG: one grey pixel. */
const PNG = Uint8Array.from(Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==', 'base64'));

interface Chunk { name: string; data: Buffer; sum: number; own: number }

function chunks(png: Uint8Array): Chunk[] {
  const bytes = Buffer.from(png);
  const all: Chunk[] = [];
  for (let at = 8; at < bytes.length;) {
    const length = bytes.readUInt32BE(at);
    const data = bytes.subarray(at + 8, at + 8 + length);
    all.push({ name: bytes.toString('latin1', at + 4, at + 8), data, sum: bytes.readUInt32BE(at + 8 + length), own: crc32(bytes.subarray(at + 4, at + 8 + length)) });
    at += 12 + length;
  }
  return all;
}

describe('words in pictures', () => {
  it('a PNG keeps its chunks, and has the text in one more whose check sum is right', () => {
    const reported = chunks(pngWithText(PNG, 'Description', 'cv 4, 突发'));
    expect(reported.map(({ name }) => name)).toEqual(['IHDR', 'iTXt', ...chunks(PNG).slice(1).map(({ name }) => name)]);
    for (const { sum, own } of reported) expect(sum).toBe(own);
    expect(reported[1]?.data.toString()).toBe('Description\0\0\0\0\0cv 4, 突发');
  });

  it('nothing of them is markup', () => {
    expect(escaped('a < b & "c"')).toBe('a &lt; b &amp; &quot;c&quot;');
  });
});
