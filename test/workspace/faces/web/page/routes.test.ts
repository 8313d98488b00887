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
])('the address %j shows %j', (hash, route) => {
  expect(parseRoute(hash)).toEqual(route)
})

test.each(['demo', 'a/b?c#d', '%2F', '<b>'])('an address leads back to the name %j', (name) => {
  expect(parseRoute(workspaceHref(name))).toEqual({ is: 'workspace', name })
  expect(parseRoute(terminalHref(name, name))).toEqual({ is: 'terminal', name, session: name })
})
