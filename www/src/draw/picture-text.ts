// Words in a picture's metadata: a PNG has them in chunks of text, an SVG in an element of escaped text.

const SIGNATURE_BYTES = 8;
/** Length, name and check sum of a chunk. */
const FRAME_BYTES = 12;

/** A PNG with an international text chunk (iTXt) behind its header. */
export function pngWithText(png: Uint8Array, keyword: string, text: string): Uint8Array<ArrayBuffer> {
  const header = SIGNATURE_BYTES + FRAME_BYTES + new DataView(png.buffer, png.byteOffset).getUint32(SIGNATURE_BYTES);
  // Keyword, not compressed, and neither language nor translated keyword.
  const data = new TextEncoder().encode(`${keyword}\0\0\0\0\0${text}`);
  const chunk = new Uint8Array(FRAME_BYTES + data.length);
  const view = new DataView(chunk.buffer);
  view.setUint32(0, data.length);
  chunk.set(new TextEncoder().encode('iTXt'), 4);
  chunk.set(data, 8);
  view.setUint32(8 + data.length, crc32(chunk.subarray(4, 8 + data.length)));
  const whole = new Uint8Array(png.length + chunk.length);
  whole.set(png.subarray(0, header));
  whole.set(chunk, header);
  whole.set(png.subarray(header), header + chunk.length);
  return whole;
}

/** The text as it stands in XML and HTML. */
export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** The check sum of PNG's chunks (ISO 3309). */
function crc32(bytes: Uint8Array): number {
  let sum = 0xFFFFFFFF;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ ((sum & 1) === 1 ? 0xEDB88320 : 0);
  }
  return (sum ^ 0xFFFFFFFF) >>> 0;
}
