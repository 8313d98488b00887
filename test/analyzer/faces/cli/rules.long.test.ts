import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../../../src/lib/process/package.ts'
import { analyzerUser, builtProject } from '../../../support/analyzer/analyzer-cli.ts'

test('rules are checked, frozen and proposed, and mistakes name their line', async () => {
  const user = analyzerUser()
  const root = builtProject('rules')
  mkdirSync(join(root, 'src/main'), { recursive: true })
  cpSync(join(packageRoot, 'test/fixtures/java/rules'), join(root, 'src/main/java'), { recursive: true })
  await user.json('start', '-p', root)
  const rules = (...argv: readonly string[]) => user.analyzer('rules', '-p', root, ...argv)
  const file = (name: string, content: string): string => {
    writeFileSync(join(root, name), content)
    return join(root, name)
  }
  const keysIn = (stdout: string): string[] => JSON.parse(stdout).violations.map(({ key }: any) => key)

  const none = await rules()
  expect([none.status, none.stderr]).toEqual([
    2,
    expect.stringContaining('analyzer-rules.yml does not exist'),
  ])

  // The example of the reference page, for the fixture.
  const page = readFileSync(join(packageRoot, 'docs/analyzer/rules.md'), 'utf8')
  const [, example = ''] = /```yaml\n([^`]*)```/.exec(page) ?? []
  const own = file('analyzer-rules.yml', example)
  const checked = await rules()
  expect([checked.status, checked.stderr]).toEqual([1, ''])
  expect(keysIn(checked.stdout)).toEqual(
    [
      'layers data.OrderTable#service -> core.OrderService',
      'layers web.OrderController#table -> data.OrderTable',
      'layers web.OrderController#<init>() -> data.OrderTable',
      'layers web.OrderController#count() -> data.OrderTable',
      'no-cycles core -> data',
      'no-cycles data -> core',
      'clock core.Clock#<init>() -> java.util.Date#<init>()',
      'clock web.OrderController#now() -> java.util.Date#<init>()',
    ].filter((key) => !key.startsWith('layers data')),
  )
  const table = await rules('--table')
  expect(table.stdout).toMatch(
    /^clock +warning +web\/OrderController\.java:17 +web\.OrderController#now\(\) calls java\.util\.Date#<init>\(\)$/m,
  )
  expect(table.stdout).toContain(
    '\nclock: 2 new violations. Tests cannot set this clock; use java.time.Clock.\n',
  )

  const sarif = JSON.parse((await rules('--format', 'sarif')).stdout)
  const [{ tool, results }] = sarif.runs
  expect(tool.driver.rules.map(({ id }: any) => id)).toEqual(['clock', 'controllers', 'layers', 'no-cycles'])
  expect(results.at(-1)).toMatchObject({
    ruleId: 'clock',
    level: 'warning',
    baselineState: 'new',
    partialFingerprints: { 'violation/v1': 'clock web.OrderController#now() -> java.util.Date#<init>()' },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: 'src/main/java/web/OrderController.java', uriBaseId: 'PROJECT' },
          region: { startLine: 17 },
        },
        logicalLocations: [{ fullyQualifiedName: 'web.OrderController#now', kind: 'function' }],
      },
    ],
  })

  const frozen = await rules('--freeze')
  expect([frozen.status, JSON.parse(frozen.stdout).frozenCount]).toEqual([0, 7])
  const baseline = join(root, 'analyzer-rules.baseline')
  expect(keysIn((await rules()).stdout)).toEqual([])
  expect(keysIn((await rules('--all')).stdout)).toHaveLength(7)
  // One is fixed, and one is new.
  const lines = readFileSync(baseline, 'utf8').split('\n')
  writeFileSync(baseline, [...lines.slice(0, -2), 'clock web.Gone -> java.util.Date#<init>()', ''].join('\n'))
  const pruned = await rules('--prune')
  expect([pruned.status, JSON.parse(pruned.stdout)]).toEqual([
    1,
    expect.objectContaining({ newCount: 1, vanishedCount: 1 }),
  ])
  expect(readFileSync(baseline, 'utf8').split('\n')).toEqual([...lines.slice(0, -2), ''])
  const elsewhere = join(root, 'known')
  expect(await rules('--freeze', '--baseline', elsewhere)).toMatchObject({ status: 0 })
  expect(await rules('--baseline', elsewhere)).toMatchObject({ status: 0 })
  // A warning does not fail.
  file('warning.yml', 'rules: [{id: a, reason: b, severity: warning, mustNotUse: data..}]')
  expect(await rules('--rules', join(root, 'warning.yml'))).toMatchObject({ status: 0 })

  for (const [content, message] of [
    [
      'rules:\n  - id: a\n    reason: b\n    mustNotcall: c#d\n',
      /bad\.yml:4: unknown key .* did you mean "rules\.0\.mustNotCall"\?/,
    ],
    [
      'rules:\n- {id: a, reason: b, noCycles: package}\n- {id: a, reason: b, noCycles: package}',
      /bad\.yml:3: rule "a": another rule has this id/,
    ],
    ['rules:\n  - id: a\n   reason: b\n', /bad\.yml:3: is not valid YAML: /],
    [
      'rules:\n  - id: a\n    reason: b\n    classes: 3\n    noCycles: class',
      /bad\.yml:4: "rules\.0\.classes" must be a pattern, a list/,
    ],
    [
      `a: &a [x]\n${Array.from({ length: 30 }, (_, at) => `b${at}: &b${at} [${`*${at === 0 ? 'a' : `b${at - 1}`},`.repeat(9)}]`).join('\n')}`,
      /bad\.yml: is not valid YAML: Excessive alias count/,
    ],
    [`rules: []\n#${'x'.repeat(300_000)}`, /bad\.yml cannot be read: it has \d+ bytes, more than 262144/],
    ['', /bad\.yml:1: "" must have required property 'rules'/],
  ] as const) {
    const { status, stderr } = await rules('--rules', file('bad.yml', content))
    expect([status, stderr]).toEqual([2, expect.stringMatching(message)])
  }
  for (const argv of [
    ['--freeze', '--prune'],
    ['--baseline', join(root, 'no-such-file')],
    ['--rules', root],
  ])
    expect(await rules(...argv)).toMatchObject({ status: 2 })
  const link = join(root, 'link.yml')
  symlinkSync(own, link)
  expect(await rules('--rules', link, '--baseline', elsewhere)).toMatchObject({ status: 0 })

  rmSync(baseline)
  rmSync(own)
  const inferred = await user.analyzer('rules', 'infer', '-p', root, '--output', own)
  expect(inferred).toMatchObject({ status: 0, stderr: '' })
  const held = await rules()
  expect([held.status, JSON.parse(held.stdout).frozenCount]).toEqual([0, 2])
  const again = await user.analyzer('rules', 'infer', '-p', root, '--output', own)
  expect([again.status, again.stderr]).toEqual([2, expect.stringContaining('already exists')])
})

test('duplicates exits with 1 if a class is on the class path more than once', async () => {
  const user = analyzerUser()
  const root = builtProject('rules')
  const module = join(root, 'copy')
  mkdirSync(join(module, 'target/classes'), { recursive: true })
  writeFileSync(join(module, 'pom.xml'), '<project/>')
  await user.json('start', '-p', root)
  const duplicates = (...argv: readonly string[]) =>
    user.analyzer('duplicates', '-p', root, '--table', ...argv)
  expect(await duplicates()).toMatchObject({ status: 0, stdout: 'no duplicates\n' })
  cpSync(join(root, 'target/classes/data'), join(module, 'target/classes/data'), { recursive: true })
  await user.json('refresh', '-p', root)
  const found = await duplicates()
  expect([found.status, found.stdout]).toEqual([
    1,
    expect.stringMatching(
      /^data\.Failure +loaded +\S+\/shop\/target\/classes\ndata\.Failure +same +\S+\/copy\/target\/classes$/m,
    ),
  ])
  expect(found.stdout).toMatch(
    /^2 classes of \S+\/copy\/target\/classes hidden by \S+\/shop\/target\/classes$/m,
  )
  const split = await duplicates('--of', 'package')
  expect([split.status, split.stdout]).toEqual([
    1,
    expect.stringMatching(/^data +2 +\S+\/shop\ndata +2 +\S+\/copy$/m),
  ])
})
