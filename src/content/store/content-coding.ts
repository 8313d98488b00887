/** Codings that describe bytes, as IANA registers them, with the names by which clients know them. */
const CODINGS: Readonly<Record<string, string>> = {
  br: 'br',
  compress: 'compress',
  deflate: 'deflate',
  gzip: 'gzip',
  'x-compress': 'compress',
  'x-gzip': 'gzip',
  zstd: 'zstd',
}

/**
 * Returns the codings of an object's bytes from its stored `Content-Encoding`; undefined if there are none. Some
 * services keep `aws-chunked`, which described only the upload; `identity` and unknown names describe nothing. Codings
 * have no parameters, so those of an entry are ignored.
 */
export function parseContentEncoding(stored: string | undefined): string | undefined {
  const names = (stored ?? '').split(',').map((entry) => entry.replace(/;.*/s, '').trim().toLowerCase())
  const codings = names.flatMap((name) => (Object.hasOwn(CODINGS, name) ? [CODINGS[name]] : []))
  return codings.length === 0 ? undefined : codings.join(', ')
}
