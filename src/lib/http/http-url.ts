/** Returns whether a text is an absolute URL of HTTP, with or without TLS. */
export function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}
