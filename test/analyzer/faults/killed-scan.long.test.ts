import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Random } from '../../../src/lib/random/random.ts'
import { analyzerUser, spawnServe } from '../../support/analyzer/analyzer-cli.ts'
import { corpusJar } from '../../support/analyzer/corpora.ts'
import { recovery } from '../../support/recovery.ts'
import { rounds } from '../../support/rounds.ts'
import { SEED } from '../../support/seed.ts'
import { tempDir } from '../../support/temp-dir.ts'

const KILLS = rounds(4, 100)

test(
  `F3 an index whose server and readers are killed at ${KILLS} moments of a scan answers like an undisturbed one`,
  { timeout: 60_000 + KILLS * 15_000 },
  async (context) => {
    const root = join(tempDir(), 'shop')
    mkdirSync(join(root, 'lib'), { recursive: true })
    writeFileSync(join(root, 'pom.xml'), '<project/>\n')
    copyFileSync(corpusJar('guava-'), join(root, 'lib/guava.jar'))
    const question = ['classes', 'implementations', 'com.google.common.base.Function', '-p', root] as const
    const untouched = analyzerUser()
    await untouched.json('start', '-p', root)
    const expected = await untouched.json(...question)
    const user = analyzerUser()
    const random = new Random(SEED)
    for (let kill = 0; kill < KILLS; kill++) {
      const { child, exit } = spawnServe(user, ['-p', root])
      await delay(200 + random.next() * 1_200)
      child.kill('SIGKILL')
      await exit
    }
    const answer = await recovery(context, async () => {
      await user.json('start', '-p', root)
      return user.json(...question)
    })
    expect(answer).toEqual(expected)
  },
)
