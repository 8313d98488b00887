import { counted } from '../../../lib/cli/counted.ts'
import { fault } from '../../errors.ts'
import { pageOf, type Paging } from '../paging.ts'
import type { RunSearch } from '../search-queue.ts'
import type { Snapshot } from '../snapshot.ts'
import { Baseline } from './baseline.ts'
import { findAnnotations, findClasses } from './class-rules.ts'
import { Selectors } from './class-selector.ts'
import { findMemberUses } from './code-rules.ts'
import { findCycles } from './cycle-rules.ts'
import { findDependencies } from './dependency-rules.ts'
import { CONDITION_NAMES, type ConditionName, type Rule, ruleProblems, type RuleSet } from './rule-set.ts'
import { Subjects } from './subjects.ts'
import { type Found, keyOf, type Violation, violationView } from './violation.ts'

/** Violations of one check; more mean that a rule is wrong. */
const MAX_VIOLATIONS = 100_000
const MAX_VANISHED = 10_000

/** A check of rules. */
export interface RulesRequest {
  readonly rules: RuleSet
  /** Text of the baseline, empty without one. */
  readonly baseline: string
  /** Whether violations in the baseline are listed too. */
  readonly includeFrozen: boolean
}

/** Result of a rule. */
interface RuleResult {
  readonly id: string
  readonly severity: Violation['severity']
  readonly newCount: number
  readonly frozenCount: number
}

type Check = (snapshot: Snapshot, rule: Rule) => Generator<void, readonly Found[]>

const CHECKS: Readonly<Record<ConditionName, Check>> = {
  layers: findDependencies,
  mustNotUse: findDependencies,
  mayOnlyUse: findDependencies,
  mayOnlyBeUsedBy: findDependencies,
  noCycles: findCycles,
  mustNotCall: findMemberUses,
  mustNotAccess: findMemberUses,
  mustBeAnnotatedWith: findClasses,
  mustNotBeAnnotatedWith: findAnnotations,
  mustResideIn: findClasses,
  mustBeNamed: findClasses,
  mustBeSubtypeOf: findClasses,
  mustNotBeSubtypeOf: findClasses,
}

/**
 * Checks the project against rules and returns a page of the violations, in the order of the rules.
 *
 * @throws BAD_REQUEST for an invalid rule and for too many violations, and the errors of `run`
 */
export async function rulesOf(snapshot: Snapshot, request: RulesRequest, paging: Paging, run: RunSearch) {
  const [problem] = ruleProblems(request.rules)
  if (problem !== undefined) throw fault('BAD_REQUEST', problem.message)
  snapshot.requireClasses()
  return run(search(snapshot, request, paging))
}

interface Listed {
  readonly rule: Rule
  readonly found: Found
  readonly isFrozen: boolean
}

function* search(snapshot: Snapshot, { rules, baseline: text, includeFrozen }: RulesRequest, paging: Paging) {
  const baseline = yield* Baseline.read(text)
  const listed: Listed[] = []
  const results: RuleResult[] = []
  const notes: string[] = []
  let count = 0
  for (const rule of rules.rules) {
    const all = yield* findViolations(snapshot, rule)
    count += all.length
    if (count > MAX_VIOLATIONS)
      throw fault(
        'BAD_REQUEST',
        `rule "${rule.id}": there are more than ${MAX_VIOLATIONS} violations; narrow its classes`,
      )
    let frozenCount = 0
    for (const [at, found] of all.entries()) {
      if (at % 64 === 0) yield
      const isFrozen = baseline.take(keyOf(snapshot, rule.id, found))
      frozenCount += Number(isFrozen)
      if (!isFrozen || includeFrozen) listed.push({ rule, found, isFrozen })
    }
    const { id, severity = 'error' } = rule
    results.push({ id, severity, newCount: all.length - frozenCount, frozenCount })
    notes.push(...(yield* emptyClasses(snapshot, rule)))
  }
  const vanished = baseline.rest()
  const { rows, ...page } = pageOf(listed, paging, (each) => each)
  const violations: Violation[] = []
  for (const { rule, found, isFrozen } of rows) {
    yield
    violations.push(violationView(snapshot, rule, found, isFrozen))
  }
  const sumOf = (severity?: string) =>
    results
      .filter((each) => severity === undefined || each.severity === severity)
      .reduce((sum, { newCount }) => sum + newCount, 0)
  const frozenCount = results.reduce((sum, each) => sum + each.frozenCount, 0)
  return {
    violations,
    ...page,
    rules: results,
    errorCount: sumOf('error'),
    newCount: sumOf(),
    frozenCount,
    vanishedCount: vanished.length,
    vanished: vanished.slice(0, MAX_VANISHED),
    notes,
    note: `${counted(sumOf(), 'new violation')} of ${counted(results.length, 'rule')}, ${frozenCount} in the baseline, ${vanished.length} no longer in the code`,
  }
}

/** Finds the violations of a rule, in the order of the names of classes. */
export function* findViolations(snapshot: Snapshot, rule: Rule): Generator<void, readonly Found[]> {
  const condition = CONDITION_NAMES.find((name) => rule[name] !== undefined)
  return condition === undefined ? [] : yield* CHECKS[condition](snapshot, rule)
}

/** Reports selectors that match nothing: such a rule holds for the wrong reason. */
function* emptyClasses(snapshot: Snapshot, rule: Rule): Generator<void, readonly string[]> {
  const selectors = new Selectors(snapshot)
  const named = [
    ...(rule.classes === undefined ? [] : [['"classes"', selectors.of(rule.classes)] as const]),
    ...Object.entries(rule.layers ?? {}).map(
      ([name, { classes }]) => [`layer "${name}"`, selectors.of(classes)] as const,
    ),
  ]
  const empty = new Set(named)
  for (const id of new Subjects(snapshot, rule.includeTests === true).all()) {
    if (empty.size === 0) break
    yield
    for (const each of empty) if (each[1](snapshot.index.nameIdOf(id))) empty.delete(each)
  }
  return [...empty].map(([name]) => `rule "${rule.id}": ${name} matches no class of the project`)
}
