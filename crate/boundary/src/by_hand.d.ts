// What crosses as typed arrays and is no struct; the types of structs are in `boundary.d.ts`, which is generated. A test
// (`crate/web/tests/browser.rs`) compares the keys with what is made.

/** A trace, one entry a request in order of arrival in every column that does not say otherwise. */
export interface TraceColumns {
  arrival_us: Float64Array;
  user: Uint32Array;
  /** 4294967295 is the base model. */
  adapter: Uint32Array;
  input_tokens: Uint32Array; output_tokens: Uint32Array; max_tokens: Uint32Array;
  /** The request whose end is waited for, 4294967295 for none, and the time after it; empty where no request waits. */
  after: Uint32Array; think_us: Float64Array;
  /** One time, from which on nothing that waited is sent; it may be infinite. */
  until_us: Float64Array;
  /** Who belongs to one session (4294967295: none), and what the original system took; each may be empty. */
  session: Uint32Array; took_s: Float64Array;
  /** Rank by adapter. */
  adapter_rank: Uint32Array;
  /** Pairs of microseconds and request. */
  cancellations: Float64Array;
}
