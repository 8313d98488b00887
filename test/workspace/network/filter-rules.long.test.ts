import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { outwardFrame, startFilterBefore } from '../../support/vm/net-filter.ts'
import { waitFor } from '../../support/wait-for.ts'

/** Counts frames that pass the filter. */
const COUNTING = `
n = 0
while chunk := s.recv(1 << 20):
    n += len(chunk)
    report(n)
`

/** Ways of replacing the rules while a guest is busy; new rules must apply in each case. */
const replacements = {
  'a new file': (rules: string, text: string) => {
    writeFileSync(`${rules}.new`, text)
    renameSync(`${rules}.new`, rules)
  },
  'a file with the same inode number': writeFileSync,
}
const pauses = { 'never pauses': 5, 'pauses for less than a look at the rules': 300 }

describe.runIf(process.platform === 'linux').each(Object.entries(replacements))('%s', (_name, replace) => {
  test.each(Object.entries(pauses))(
    'a guest that %s loses what its rules no longer permit',
    async (_pauses, pause) => {
      const { guest, directory, rules } = await startFilterBefore(COUNTING)
      const passed = () => Number(readFileSync(join(directory, 'count'), 'utf8'))
      let sent = 0
      const sending = setInterval(() => {
        guest.write(outwardFrame())
        sent++
      }, pause)
      onTestFinished(() => clearInterval(sending))
      const grows = async () => {
        const [before, until] = [passed(), sent + 4]
        await waitFor('more frames', () => sent >= until)
        return passed() > before
      }
      await waitFor('the first frame', () => existsSync(join(directory, 'count')))
      replace(rules, 'egress none\n')
      await waitFor('new rules', async () => !(await grows()))
      replace(rules, 'egress open\n')
      await waitFor('the rules of before', grows)
      replace(rules, '')
      await waitFor('an end without rules', async () => !(await grows()))
      replace(rules, 'egress open\n')
      await waitFor('the rules of before', grows)
      expect(guest.destroyed).toBe(false)
    },
  )
})
