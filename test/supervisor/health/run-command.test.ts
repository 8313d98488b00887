import { expect, test } from 'vitest'
import { runCommand } from '../../../src/supervisor/health/run-command.ts'

test('a character of a check that arrived in pieces became U+FFFD', async () => {
  const command = String.raw`printf '\342\202'; sleep 0.2; printf '\254\n'; exit 1`
  const place = { cwd: '/', environment: { PATH: '/usr/bin:/bin' }, user: undefined }
  expect(await runCommand(command, place, new AbortController().signal)).toEqual({
    isDone: false,
    output: '€',
  })
})
