// The colour of a user or adapter, the same in the picture, in charts and in tables: the first seven have one of their own.
const OWN = 7;

/** The role of its colour; null beyond the first seven. */
export function clientRole(id: number): string | null {
  return id >= 0 && id < OWN ? `client_${String(id)}` : null;
}
