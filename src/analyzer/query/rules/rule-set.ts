import type { Static } from 'typebox'
import { Type } from '../../../lib/schema/type.ts'
import { patternProblem } from './class-pattern.ts'
import { memberPatternProblem } from './member-pattern.ts'

const MAX_RULES = 200
const MAX_LAYERS = 100
const MAX_PATTERNS = 100
const MAX_LENGTH = 200
const exact = { additionalProperties: false }

/** Severities of a rule; violations of an `error` fail the check. */
export const SEVERITIES = ['error', 'warning', 'note'] as const
/** Kinds of classes that a selector can demand. */
export const CLASS_KINDS = ['class', 'interface', 'enum', 'annotation', 'record'] as const
/** Places of annotations that a rule can forbid. */
export const ANNOTATION_PLACES = ['class', 'field', 'method', 'constructor', 'parameter'] as const

const pattern = Type.String({ minLength: 1, maxLength: MAX_LENGTH })
const list = Type.Array(pattern, { minItems: 1, maxItems: MAX_PATTERNS })
const patterns = Type.Union([pattern, list], { description: 'a pattern or a list of patterns' })

const selector = Type.Union(
  [
    pattern,
    list,
    Type.Object(
      {
        classes: Type.Optional(patterns),
        named: Type.Optional(patterns),
        annotatedWith: Type.Optional(patterns),
        subtypesOf: Type.Optional(patterns),
        kind: Type.Optional(Type.Enum(CLASS_KINDS)),
        except: Type.Optional(patterns),
      },
      exact,
    ),
  ],
  {
    description:
      'a pattern, a list of patterns, or a mapping of classes, named, annotatedWith, subtypesOf, kind and except',
  },
)

const layer = Type.Object(
  {
    classes: selector,
    mayUse: Type.Optional(Type.Array(pattern, { maxItems: MAX_LAYERS, description: 'layers it may use' })),
    mayOnlyBeUsedBy: Type.Optional(
      Type.Array(pattern, { maxItems: MAX_LAYERS, description: 'layers that may use it' }),
    ),
  },
  exact,
)

/** Conditions of rules; each rule has one. */
const conditions = {
  layers: Type.Optional(Type.Record(Type.String(), layer, { maxProperties: MAX_LAYERS })),
  mustNotUse: Type.Optional(selector),
  mayOnlyUse: Type.Optional(selector),
  mayOnlyBeUsedBy: Type.Optional(selector),
  noCycles: Type.Optional(pattern),
  mustNotCall: Type.Optional(patterns),
  mustNotAccess: Type.Optional(patterns),
  mustBeAnnotatedWith: Type.Optional(patterns),
  mustNotBeAnnotatedWith: Type.Optional(patterns),
  mustResideIn: Type.Optional(patterns),
  mustBeNamed: Type.Optional(patterns),
  mustBeSubtypeOf: Type.Optional(patterns),
  mustNotBeSubtypeOf: Type.Optional(patterns),
}
/** Name of a condition. */
export type ConditionName = keyof typeof conditions
/** Names of all conditions. */
export const CONDITION_NAMES = Object.keys(conditions) as readonly ConditionName[]

const rule = Type.Object(
  {
    id: Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$' }),
    reason: Type.String({ minLength: 1, maxLength: 1_000 }),
    severity: Type.Optional(Type.Enum(SEVERITIES)),
    classes: Type.Optional(selector),
    includeTests: Type.Optional(Type.Boolean()),
    on: Type.Optional(Type.Enum(ANNOTATION_PLACES)),
    ignore: Type.Optional(
      Type.Array(Type.Object({ from: patterns, to: patterns }, exact), { maxItems: MAX_PATTERNS }),
    ),
    ...conditions,
  },
  exact,
)

/** Schema of a rules file. */
export const ruleSetSchema = Type.Object({ rules: Type.Array(rule, { maxItems: MAX_RULES }) }, exact)
/** Architecture rules of a project. */
export type RuleSet = Static<typeof ruleSetSchema>
/** A rule. */
export type Rule = RuleSet['rules'][number]
/** Selects classes. */
export type SelectorSpec = Static<typeof selector>
/** One pattern or several. */
export type PatternSpec = string | readonly string[]
/** A layer of a `layers` rule. */
export type Layer = Static<typeof layer>

/** Something wrong in a rule set that matches the schema. */
export interface RuleProblem {
  /** Property names and indexes from the root. */
  readonly path: readonly string[]
  readonly message: string
}

/** Finds what a schema cannot express: rules without a condition, unknown layers, malformed patterns. */
export function* ruleProblems({ rules }: RuleSet): Generator<RuleProblem> {
  const seen = new Set<string>()
  for (const [at, each] of rules.entries()) {
    const path = ['rules', String(at)]
    const about = `rule "${each.id}"`
    const wrong = (key: string, message: string): RuleProblem => ({
      path: [...path, key],
      message: `${about}: ${message}`,
    })
    if (seen.has(each.id)) yield wrong('id', 'another rule has this id; choose a different one')
    seen.add(each.id)
    const own = CONDITION_NAMES.filter((name) => each[name] !== undefined)
    if (own.length !== 1)
      yield { path, message: `${about}: must have one of ${CONDITION_NAMES.join(', ')}, not ${own.length}` }
    if (each.layers !== undefined && each.classes !== undefined)
      yield wrong('classes', 'layers name their classes themselves; remove "classes"')
    if (each.on !== undefined && each.mustNotBeAnnotatedWith === undefined)
      yield wrong('on', 'only mustNotBeAnnotatedWith can have "on"')
    if (each.ignore !== undefined && !own.some((name) => OF_DEPENDENCIES.has(name)))
      yield wrong('ignore', 'only rules about dependencies can have "ignore"')
    for (const { key, kind = key, pattern: found } of patternsOf(each)) {
      const problem = problemOf(kind, found)
      if (problem !== undefined) yield wrong(key, `"${found}" ${problem}`)
    }
    yield* layerProblems(each, wrong)
    const { noCycles } = each
    if (noCycles !== undefined && !['class', 'package'].includes(noCycles) && !noCycles.includes('(*)'))
      yield wrong(
        'noCycles',
        'must be "class", "package", or a pattern with "(*)" where slices have their name',
      )
  }
}

/** Keys whose values are full names, not patterns. */
const OF_NAMES: ReadonlySet<string> = new Set([
  'annotatedWith',
  'subtypesOf',
  'mustBeAnnotatedWith',
  'mustNotBeAnnotatedWith',
  'mustBeSubtypeOf',
  'mustNotBeSubtypeOf',
])

/** Returns why a pattern of a key is invalid; undefined if it is valid. */
function problemOf(key: string, text: string): string | undefined {
  if (key === 'mustNotCall' || key === 'mustNotAccess') return memberPatternProblem(text)
  if (OF_NAMES.has(key) && /[*()]|\.\./.test(text)) return 'must be a full name without wildcards'
  return patternProblem(text)
}

const OF_DEPENDENCIES: ReadonlySet<ConditionName> = new Set([
  'layers',
  'mustNotUse',
  'mayOnlyUse',
  'mayOnlyBeUsedBy',
  'noCycles',
])

function* layerProblems(
  { layers = {} }: Rule,
  wrong: (key: string, message: string) => RuleProblem,
): Generator<RuleProblem> {
  const names = Object.keys(layers)
  for (const { mayUse = [], mayOnlyBeUsedBy = [] } of Object.values(layers))
    for (const name of [...mayUse, ...mayOnlyBeUsedBy])
      if (!names.includes(name))
        yield wrong('layers', `layer "${name}" is not defined; defined are ${names.join(', ')}`)
}

interface PlacedPattern {
  /** Key of the rule. */
  readonly key: string
  /** Key in a selector, if it is in one. */
  readonly kind?: string
  readonly pattern: string
}

/** Yields the patterns of a rule. */
function* patternsOf(each: Rule): Generator<PlacedPattern> {
  const { layers = {}, ignore = [] } = each
  for (const { classes } of Object.values(layers)) yield* inSelector('layers', classes)
  for (const { from, to } of ignore)
    for (const found of [...listOf(from), ...listOf(to)]) yield { key: 'ignore', pattern: found }
  for (const key of ['classes', 'mustNotUse', 'mayOnlyUse', 'mayOnlyBeUsedBy'] as const)
    yield* inSelector(key, each[key])
  for (const key of [
    'mustNotCall',
    'mustNotAccess',
    'mustBeAnnotatedWith',
    'mustNotBeAnnotatedWith',
    'mustResideIn',
    'mustBeNamed',
    'mustBeSubtypeOf',
    'mustNotBeSubtypeOf',
  ] as const)
    for (const found of listOf(each[key])) yield { key, pattern: found }
  if (each.noCycles !== undefined) yield { key: 'noCycles', pattern: each.noCycles }
}

function* inSelector(key: string, spec: SelectorSpec | undefined): Generator<PlacedPattern> {
  if (spec === undefined || typeof spec === 'string' || Array.isArray(spec)) {
    for (const found of listOf(spec)) yield { key, pattern: found }
    return
  }
  const { kind: _kind, ...lists } = spec
  for (const [kind, each] of Object.entries(lists))
    for (const found of listOf(each)) yield { key, kind, pattern: found }
}

/** Returns one pattern or several as a list. */
export function listOf(spec: PatternSpec | undefined): readonly string[] {
  if (spec === undefined) return []
  return typeof spec === 'string' ? [spec] : spec
}
