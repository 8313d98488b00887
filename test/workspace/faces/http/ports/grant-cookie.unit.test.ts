import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import {
  grantCookie,
  grantsOf,
  ownSetCookie,
  withoutGrants,
} from '../../../../../src/workspace/faces/http/ports/grant-cookie.ts'

function requestWith(cookie: string): IncomingMessage {
  return { headers: { cookie } } as IncomingMessage
}

test('over TLS a grant has a name that only the host itself can set', () => {
  expect(grantCookie('g', 60, true)).toBe(
    '__Host-workspace-port=g; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure',
  )
  expect(grantCookie('g', 60, false)).toBe('workspace-port=g; Path=/; Max-Age=60; HttpOnly; SameSite=Lax')
  expect(grantsOf(requestWith('workspace-port=evil; __Host-workspace-port=g'), true)).toEqual(['g'])
})

test('every cookie of that name is tried, so that one from a sibling host does not block access', () => {
  expect(
    grantsOf(requestWith('workspace-port=evil; a=b; workspace-port=g==;workspace-port = h'), false),
  ).toEqual(['evil', 'g==', 'h'])
})

test.each([
  ['a=b; c=d', 'a=b; c=d'],
  ['', ''],
  ['workspace-port=g', undefined],
  ['a=b;workspace-port=g ; __Host-workspace-port=h; c', 'a=b; c'],
  [' workspace-port =g; workspace-ports=1', 'workspace-ports=1'],
])('a workspace gets the cookies %j as %j', (header, own) => {
  expect(withoutGrants(header)).toBe(own)
})

test.each([
  'a=b; Domain=example.org',
  'a=b;domain=example.org',
  'a=b; Domain =example.org',
  'a=b; \tDOMAIN\t= example.org',
  'a=b; Domain',
  'a=b; Domain=; Domain=example.org',
  'a=b;;Domain=example.org;',
])('a cookie of a workspace loses its domain: %j', (header) => {
  expect(ownSetCookie(header)).toMatch(/^a=b;*$/)
})

test('a cookie of a workspace is otherwise unchanged and cannot replace a grant', () => {
  const header = 'a=domain=x; Path=/; Expires=Thu, 01 Jan 2026 00:00:00 GMT; Secure'
  expect(ownSetCookie(header)).toBe(header)
  expect(ownSetCookie(`${header}; Domain=x`)).toBe(header)
  for (const grant of ['workspace-port=evil', ' workspace-port =evil; Path=/', '__Host-workspace-port=x'])
    expect(ownSetCookie(grant)).toBeUndefined()
})
