import { execFileSync } from 'node:child_process'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type ProjectRun, runBoth, runForeman, runHoncho } from '../../support/supervisor/project-runners.ts'

/** Contents of a Procfile and its `.env`. */
const PROJECTS: Readonly<Record<string, readonly [procfile: string, env?: string]>> = {
  'separate ports': ['a: echo $PORT; sleep 1\nb: echo $PORT; sleep 100\n'],
  'ports that start at the one in .env': [
    'a: echo $PORT; sleep 1\nb: echo $PORT; sleep 100\n',
    'PORT=7000\n',
  ],
  'a failure that stops all': ['a: sleep 0.5; echo failing; exit 3\nb: sleep 100\n'],
  'a success that stops all': ['a: sleep 0.5; echo done\nb: sleep 100\n'],
  'names, comments, pipes and line endings': [
    '# all\r\nweb-1_X: echo "a: b" | tr a c; sleep 1\r\n\r\n9x: echo nine; sleep 100\r\n',
  ],
  'S6 a process that ends as it wants when all are stopped': [
    // foreman may lose what a process prints then.
    `a: sleep 1; exit 3\nb: trap 'exit 5' TERM; echo started; sleep 100 & wait\n`,
  ],
  variables: [
    'a: echo "$PLAIN|$SINGLE|$DOUBLE|$EQUALS|$EMPTY|"; sleep 1\n',
    `PLAIN=x\nSINGLE='a b'\nDOUBLE="a b"\nEQUALS=a=b\nEMPTY=\n`,
  ],
}

describe.each([
  ['foreman', runForeman],
  ['honcho', runHoncho],
])('as %s', (_tool, runPeer) => {
  test.concurrent.each(Object.entries(PROJECTS))('%s', async (_what, [procfile, env]) => {
    const { theirs, ours } = await runBoth(runPeer, (dir) => {
      const file = join(dir, 'Procfile')
      writeFileSync(file, procfile)
      if (env !== undefined) writeFileSync(join(dir, '.env'), env)
      return file
    })
    expect(ours).toEqual(theirs)
  })

  // Its processes print without end, until they are killed.
  test.concurrent("foreman's own sample", async () => {
    const gem = 'puts Gem::Specification.find_by_name("foreman").gem_dir'
    const own = execFileSync('ruby', ['-e', gem], { encoding: 'utf8' }).trim()
    const { theirs, ours } = await runBoth(runPeer, (dir) => {
      cpSync(join(own, 'data/example'), dir, { recursive: true })
      return join(dir, 'Procfile')
    })
    const firsts = ({ lines }: ProjectRun) => ['error', 'ticker', 'utf8'].map((name) => lines[name]?.[0])
    expect(firsts(ours)).toEqual(firsts(theirs))
    expect(ours.exits).toEqual(theirs.exits)
    expect(ours.status).toEqual(theirs.status)
  })
})
