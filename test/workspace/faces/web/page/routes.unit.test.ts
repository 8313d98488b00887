import { expect, test } from 'vitest'
import {
  parseRoute,
  terminalHref,
  workspaceHref,
} from '../../../../../src/workspace/faces/web/page/routes.ts'

test.each([
  ['', { is: 'list' }],
  ['#/', { is: 'list' }],
  ['#/disk', { is: 'disk' }],
  ['#/bus', { is: 'bus' }],
  ['#/create', { is: 'create' }],
  ['#/workspaces/demo', { is: 'workspace', name: 'demo' }],
  ['#/workspaces/demo/terminal', { is: 'terminal', name: 'demo', session: undefined }],
  ['#/workspaces/', { is: 'list' }],
  ['#/elsewhere', { is: 'list' }],
  ['#/workspaces/%', { is: 'workspace', name: '%' }],
])('the fragment %j selects %j', (hash, route) => {
  expect(parseRoute(hash)).toEqual(route)
})

test.each(['demo', 'a/b?c#d', '%2F', '<b>'])('links round-trip the name %j', (name) => {
  expect(parseRoute(workspaceHref(name))).toEqual({ is: 'workspace', name })
  expect(parseRoute(terminalHref(name, name))).toEqual({ is: 'terminal', name, session: name })
})
