import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { sessionName } from '../../../src/workspace/credentials/session-name.ts'

const now = new Date('2026-11-21T12:00:00Z')

test('C2 a session is named after the workspace and the time in seconds', () => {
  expect(sessionName('demo', now)).toBe('workspace-demo-1795262400')
})

test('C2 every workspace name yields a session name that STS accepts', () => {
  const names = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9-]{0,62}$/)
  fc.assert(
    fc.property(names, (name) => {
      const session = sessionName(name, now)
      expect(session).toMatch(/^[\w+=,.@-]{2,64}$/)
      expect(session.startsWith(`workspace-${name.slice(0, 34)}`)).toBe(true)
    }),
  )
})

test('C2 long names with a common prefix yield different session names', () => {
  const alike = 'x'.repeat(62)
  expect(sessionName(`${alike}a`, now)).not.toBe(sessionName(`${alike}b`, now))
})
