import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkRules, postRules } from '../../../support/analyzer/check-rules.ts'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../../support/analyzer/analyzer-server.ts'

let analyzer: TestAnalyzer
beforeAll(async () => {
  analyzer = await startAnalyzer(projectOf('rules'))
})
afterAll(() => analyzer.stop())

const post = (body: object) => postRules(analyzer, body)

function check(rules: readonly object[], options: object = {}) {
  const named = rules.map((rule, at) => ({ id: `r${at}`, reason: 'a reason', ...rule }))
  return checkRules(analyzer, named, options)
}

/** Returns the keys of the violations of one rule, without its name. */
async function keysOf(rule: object): Promise<readonly string[]> {
  const { violations } = await check([rule])
  return violations.map(({ key }: any) => key.replace(/^r0 /, ''))
}

describe('violations', () => {
  test.for<readonly [title: string, rule: object, keys: readonly string[]]>([
    [
      'layers: uses of layers that are not allowed',
      {
        layers: {
          web: { classes: 'web..', mayUse: ['core'] },
          core: { classes: 'core..', mayUse: ['data'] },
          data: { classes: ['data..'] },
        },
      },
      [
        'web.Misnamed#service(core.OrderService) -> data.Failure',
        'web.Misnamed#service(core.OrderService) -> data.OrderTable',
        'web.OrderController#table -> data.OrderTable',
        'web.OrderController#<init>() -> data.OrderTable',
        'web.OrderController#count() -> data.OrderTable',
      ],
    ],
    [
      'layers: users that are not allowed',
      {
        layers: {
          core: { classes: 'core..', mayOnlyBeUsedBy: ['web'] },
          web: { classes: { named: '*Controller' } },
        },
      },
      [
        'data.OrderTable#service -> core.OrderService',
        'web.Misnamed#service(core.OrderService) -> core.OrderService',
        'web.Misnamed#service(core.OrderService) -> core.Special',
      ],
    ],
    [
      'mustNotUse',
      { classes: { kind: 'class', except: 'web..' }, mustNotUse: { subtypesOf: 'java.util.Date' } },
      ['core.OrderService#table(java.lang.String) -> core.Clock'],
    ],
    [
      'mustNotUse with ignored dependencies',
      {
        classes: 'core..',
        mustNotUse: 'data..',
        ignore: [{ from: 'core.OrderService$*', to: 'data.OrderTable' }],
      },
      [
        'core.OrderService#tables -> data.OrderTable',
        'core.OrderService#table(java.lang.String) -> data.OrderTable',
      ],
    ],
    [
      'mayOnlyUse',
      { classes: 'data..', mayOnlyUse: ['java..', 'data..'] },
      ['data.OrderTable#service -> core.OrderService'],
    ],
    [
      'mayOnlyBeUsedBy',
      { classes: { annotatedWith: 'core.Inject' }, mayOnlyBeUsedBy: 'core..' },
      ['web.Misnamed -> web.OrderController'],
    ],
    ['noCycles between packages', { noCycles: 'package' }, ['core -> data', 'data -> core']],
    ['noCycles between classes', { classes: 'core..', noCycles: 'class' }, []],
    ['noCycles between slices', { noCycles: '(*)..' }, ['core -> data', 'data -> core']],
    [
      'noCycles with ignored dependencies',
      { noCycles: 'package', ignore: [{ from: 'data..', to: '..' }] },
      [],
    ],
    [
      'mustNotCall, also in lambdas, method references, anonymous classes and of subclasses',
      { mustNotCall: ['java.util.Date#<init>', 'java.util.Date#getTime', 'java.lang.System#exit(int)'] },
      [
        'core.Clock#<init>() -> java.util.Date#<init>()',
        'core.OrderService#table(java.lang.String) -> core.Clock#getTime()',
        'web.OrderController#now() -> java.util.Date#<init>()',
        'web.OrderController$#run() -> java.lang.System#exit(int)',
      ],
    ],
    ['mustNotCall of another overload', { mustNotCall: 'java.util.Date#<init>(long)' }, []],
    [
      'mustNotAccess',
      { mustNotAccess: ['java.lang.System#out', 'data..#S*'] },
      [
        'data.OrderTable#<clinit>() -> data.OrderTable#SIZE',
        'web.OrderController#print(java.lang.String) -> java.lang.System#out',
        'web.OrderController#count() -> data.OrderTable#SIZE',
      ],
    ],
    [
      'mustBeAnnotatedWith',
      { classes: 'web..', mustBeAnnotatedWith: 'core.Secured' },
      ['web.Misnamed -> core.Secured'],
    ],
    [
      'mustNotBeAnnotatedWith, also through annotations',
      { mustNotBeAnnotatedWith: ['core.Inject', 'java.lang.Deprecated'] },
      [
        'core.Secured -> core.Inject',
        'web.Misnamed#<init>() -> java.lang.Deprecated',
        'web.OrderController -> core.Inject',
        'web.OrderController#service -> core.Inject',
        'web.OrderController#print(java.lang.String) -> core.Inject',
      ],
    ],
    [
      'mustNotBeAnnotatedWith on fields',
      { on: 'field', mustNotBeAnnotatedWith: 'core.Inject' },
      ['web.OrderController#service -> core.Inject'],
    ],
    [
      'mustResideIn',
      { classes: { subtypesOf: ['java.lang.Throwable', 'core.OrderService'] }, mustResideIn: 'core..' },
      ['data.Failure -> core..'],
    ],
    [
      'mustBeNamed',
      { classes: { classes: 'web..' }, mustBeNamed: ['*Controller', '*Resource'] },
      ['web.Misnamed -> *Controller or *Resource'],
    ],
    [
      'mustBeSubtypeOf',
      { classes: 'core.S*', mustBeSubtypeOf: 'java.lang.Runnable' },
      ['core.Secured -> java.lang.Runnable'],
    ],
    ['mustNotBeSubtypeOf', { mustNotBeSubtypeOf: 'java.util.Date' }, ['core.Clock -> java.util.Date']],
  ])('%s', async ([, rule, keys]) => {
    expect((await keysOf(rule)).toSorted()).toEqual(keys.toSorted())
  })

  test('have the class, member, file and line, and say why', async () => {
    const { violations, notes } = await check([
      { id: 'clock', reason: 'Use java.time.', severity: 'warning', mustNotCall: 'java.util.Date#<init>' },
      { classes: 'nowhere..', mustNotUse: 'java..' },
    ])
    expect(violations[1]).toEqual({
      ruleId: 'clock',
      severity: 'warning',
      reason: 'Use java.time.',
      classFqn: 'web.OrderController',
      member: 'now',
      descriptor: '()Ljava/util/Date;',
      sourceFile: 'web/OrderController.java',
      lineNumber: 17,
      target: 'java.util.Date#<init>()',
      message: 'web.OrderController#now() calls java.util.Date#<init>()',
      key: 'clock web.OrderController#now() -> java.util.Date#<init>()',
      isFrozen: false,
    })
    expect(notes).toEqual(['rule "r1": "classes" matches no class of the project'])
  })

  test('are in pages, in the order of the rules', async () => {
    const rules = [{ mustNotUse: 'java..' }, { severity: 'note', mustBeNamed: 'A*' }]
    const whole = await check(rules)
    const pages = await Promise.all([0, 1, 2].map((page) => check(rules, { page, size: 20 })))
    expect(pages.flatMap(({ violations }) => violations)).toEqual(whole.violations.slice(0, 60))
    expect(whole.totalCount).toBe(whole.violations.length)
    const ids: string[] = whole.violations.map(({ ruleId }) => ruleId)
    expect(ids).toEqual(ids.toSorted())
    expect([whole.newCount, whole.errorCount]).toEqual([ids.length, ids.filter((id) => id === 'r0').length])
  })
})

describe('a baseline', () => {
  const rule = {
    id: 'clock',
    reason: 'a reason',
    mustNotCall: ['java.util.Date#<init>', 'java.lang.System#exit'],
  }

  test('hides known violations, and lists those that vanished', async () => {
    const { violations } = await check([rule])
    const keys: string[] = violations.map(({ key }) => key)
    expect(keys).toHaveLength(3)
    const baseline = [
      '# a comment',
      '',
      ...keys.slice(1),
      'clock gone.Class -> java.util.Date#<init>()',
    ].join('\r\n')
    const some = await check([rule], { baseline })
    expect(some.violations.map(({ key }) => key)).toEqual(keys.slice(0, 1))
    expect(some).toMatchObject({
      newCount: 1,
      frozenCount: 2,
      vanished: ['clock gone.Class -> java.util.Date#<init>()'],
      rules: [{ id: 'clock', severity: 'error', newCount: 1, frozenCount: 2 }],
    })
    const all = await check([rule], { baseline, includeFrozen: true })
    expect(all.violations.map(({ isFrozen }) => isFrozen)).toEqual([false, true, true])
  })

  test('counts equal violations of anonymous classes', async () => {
    const { violations } = await check([rule])
    const key = violations.find(({ member }) => member === 'run')?.key
    expect(key).toBe('clock web.OrderController$#run() -> java.lang.System#exit(int)')
    const twice = await check([rule], { baseline: `${key}\n${key}\n` })
    expect(twice).toMatchObject({ frozenCount: 1, vanished: [key] })
  })
})

describe('invalid rules', () => {
  const valid = { id: 'a', reason: 'a reason', mustNotUse: 'java..' }
  test.for<readonly [rules: readonly object[], message: string]>([
    [[valid, valid], 'rule "a": another rule has this id'],
    [[{ ...valid, noCycles: 'class' }], 'rule "a": must have one of layers, mustNotUse,'],
    [[{ id: 'a', reason: 'a reason' }], 'rule "a": must have one of layers,'],
    [[{ ...valid, mustNotUse: 'a...b' }], 'rule "a": "a...b" has more than two dots in a row'],
    [[{ ...valid, mustNotUse: 'a.(b)' }], 'rule "a": "a.(b)" may have parentheses only as a whole segment'],
    [[{ ...valid, classes: { classes: ['a', 'a b'] } }], 'rule "a": "a b" may contain only letters'],
    [[{ ...valid, classes: '.a' }], 'rule "a": ".a" must not begin or end with a single dot'],
    [
      [{ ...valid, classes: { annotatedWith: 'a..' } }],
      'rule "a": "a.." must be a full name without wildcards',
    ],
    [
      [{ id: 'a', reason: 'b', mustNotBeSubtypeOf: 'a.B*' }],
      'rule "a": "a.B*" must be a full name without wildcards',
    ],
    [[{ ...valid, on: 'field' }], 'rule "a": only mustNotBeAnnotatedWith can have "on"'],
    [[{ id: 'a', reason: 'b', noCycles: 'shop.*' }], 'rule "a": must be "class", "package", or a pattern'],
    [[{ id: 'a', reason: 'b', mustNotCall: 'System.exit' }], '"System.exit" must be owner#name, for example'],
    [
      [{ id: 'a', reason: 'b', mustBeNamed: 'A', ignore: [{ from: 'a', to: 'b' }] }],
      'only rules about dependencies',
    ],
    [
      [{ id: 'a', reason: 'b', layers: { web: { classes: 'a..', mayUse: ['core'] } } }],
      'layer "core" is not defined',
    ],
    [[{ id: 'a b', reason: 'b', mustBeNamed: 'A' }], 'rules.rules.0.id must match pattern'],
    [[{ ...valid, mustNotUse: 'a'.repeat(201) }], 'must NOT have more than 200 characters'],
    [
      Array.from({ length: 201 }, (_, at) => ({ ...valid, id: `r${at}` })),
      'must NOT have more than 200 items',
    ],
  ])('$1', async ([rules, message]) => {
    const { status, body } = await post({ rules: { rules } })
    expect([status, body.message]).toEqual([400, expect.stringContaining(message)])
  })
})

test('proposed rules hold, and name what exists', async () => {
  const { rules, baseline } = await analyzer.get('/rules/infer')
  expect(rules.rules[0].layers).toEqual({
    web: { classes: 'web..', mayUse: ['core', 'data'] },
    core: { classes: 'core..', mayUse: ['data'] },
    data: { classes: 'data..', mayUse: ['core'] },
  })
  expect(baseline).toEqual(['no-package-cycles core -> data', 'no-package-cycles data -> core'])
  const { body } = await post({ rules, baseline: baseline.join('\n') })
  expect(body).toMatchObject({ newCount: 0, frozenCount: 2, vanishedCount: 0 })
})
