import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { analyzerUser, builtProject } from '../../../support/analyzer/analyzer-cli.ts'
import { packageRoot } from '../../../../src/lib/process/package.ts'
import { tempDir } from '../../../support/temp-dir.ts'

test('reach reports methods of vulnerabilities, also as SARIF, and dead lists the rest', async () => {
  const user = analyzerUser()
  const root = builtProject('dead')
  mkdirSync(join(root, 'src/main/java'), { recursive: true })
  cpSync(join(packageRoot, 'test/fixtures/java/dead'), join(root, 'src/main/java'), { recursive: true })
  await user.json('start', '-p', root)
  const folder = tempDir()
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  const reach = (...argv: readonly string[]) => user.analyzer('reach', '-p', root, ...argv)

  const record = {
    id: 'TEST-1',
    affected: [
      { package: { ecosystem: 'npm' }, ecosystem_specific: { affected_functions: ['dead.Program.used'] } },
      {
        package: { ecosystem: 'Maven', name: 'dead:dead' },
        ecosystem_specific: { affected_functions: ['dead.Statics.run(int)', 'dead.Program.unused'] },
        database_specific: { imports: [{ path: 'dead', symbols: ['Circle'] }] },
      },
    ],
  }
  const osv = file('osv.json', JSON.stringify(record))
  const found = await reach('--osv', osv)
  const { targets, reachableCount } = JSON.parse(found.stdout)
  expect([found.status, reachableCount]).toEqual([1, 2])
  expect(targets.map(({ target, status }: any) => [target, status])).toEqual([
    ['dead.Statics#run', 'reachable'],
    ['dead.Program#unused', 'unreachable'],
    ['dead.Circle', 'reachable'],
  ])
  expect((await reach('--osv', osv, '--table')).stdout).toContain(
    'dead.Statics#run from main: dead.Program, main method',
  )

  const sarif = JSON.parse((await reach('--osv', osv, '--format', 'sarif')).stdout)
  expect(sarif).toMatchObject({
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'analyzer', rules: [{ id: 'TEST-1' }] } },
        results: [
          {
            ruleId: 'TEST-1',
            level: 'error',
            message: {
              text: 'dead.Statics#run is reachable from dead.Program (main: main method) in 3 steps',
            },
            locations: [
              {
                physicalLocation: {
                  artifactLocation: { uri: 'src/main/java/dead/Program.java', uriBaseId: 'PROJECT' },
                  region: { startLine: expect.any(Number) },
                },
                logicalLocations: [{ fullyQualifiedName: 'dead.Helper#referenced', kind: 'function' }],
              },
            ],
            codeFlows: [{ threadFlows: [{ locations: { length: 3 } }] }],
          },
          { ruleId: 'TEST-1' },
        ],
      },
    ],
  })

  const list = file('list', 'dead.Program#unused\n\n// a comment\ndead.Square\n')
  expect(await reach('--to-file', list)).toMatchObject({ status: 0 })
  expect(await reach('--to', 'dead.Program#used,dead.Square')).toMatchObject({ status: 1 })
  expect(await reach('--to', 'no.such.Class')).toMatchObject({ status: 0 })
  // Many names need several requests.
  const many = file('many', Array.from({ length: 1_500 }, (_, at) => `no.such.Class${at}`).join('\n'))
  const absent = JSON.parse((await reach('--to-file', many)).stdout)
  expect([absent.targets.length, absent.reachableCount]).toEqual([1_500, 0])

  expect(await reach('--from', 'no.such.Root', '--to', 'dead.Square')).toMatchObject({ status: 2 })
  expect(await reach()).toMatchObject({ status: 2, stderr: expect.stringContaining('no targets') })
  expect(await reach('--osv', list)).toMatchObject({ status: 2, stderr: expect.stringContaining('OSV') })
  expect(await reach('--osv', join(folder, 'nothing'))).toMatchObject({ status: 2 })
  const none = await reach('--osv', file('none.json', '{"vulns": [{"id": "TEST-2"}]}'), '--to', 'dead.Square')
  expect([none.status, none.stderr]).toEqual([0, expect.stringContaining('TEST-2 lists no methods')])

  const dead = await user.analyzer('dead', '-p', root, '--table')
  expect([dead.status, dead.stdout]).toEqual([
    1,
    expect.stringMatching(/^Class +Member +Line +Why\ndead\.Circle +radius\(\)D +\d+ +nobody calls it\n/),
  ])
  expect(await user.analyzer('dead', '-p', root, '--from', 'test')).toMatchObject({ status: 0 })
})
