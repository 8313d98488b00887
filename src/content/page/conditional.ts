import type { IncomingHttpHeaders } from 'node:http'

/** Returns the ETag of an object in a coding: different bytes need a different tag. */
export function tagOf(etag: string, coding: string | undefined): string {
  return coding === undefined ? etag : etag.replace(/"$/, `-${coding}"`)
}

/** Whether the client's copy is current, by ETag or, without one, by date (RFC 9110, 13.2.2). */
export function isUnchanged(headers: IncomingHttpHeaders, tag: string, modifiedMs: number): boolean {
  const tags = headers['if-none-match']
  if (tags !== undefined) return tags.trim() === '*' || splitTags(tags).includes(weak(tag))
  const since = headers['if-modified-since']
  return since !== undefined && Math.floor(modifiedMs / 1000) * 1000 <= Date.parse(since)
}

/** Whether a range still applies to the client's copy (If-Range). */
export function isSame(ifRange: string | undefined, tag: string, modifiedMs: number): boolean {
  if (ifRange === undefined || ifRange === tag) return true
  return !ifRange.includes('"') && Date.parse(ifRange) === Math.floor(modifiedMs / 1000) * 1000
}

function splitTags(tags: string): readonly string[] {
  return (tags.match(/(?:W\/)?"[^"]*"/g) ?? []).map(weak)
}

function weak(tag: string): string {
  return tag.replace(/^W\//, '')
}
