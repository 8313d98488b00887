import { ACC } from '../../bytecode/access-flags.ts'
import { TARGET } from '../../bytecode/columns.ts'
import { matchingAnnotations } from '../annotations/annotation-closure.ts'
import { targetOf } from '../calls/compiled-references.ts'
import { memberAt } from '../calls/find-references.ts'
import { CLASS_ITSELF } from '../written/attribution.ts'
import { WrittenCode } from '../written/written-code.ts'
import type { Snapshot } from '../snapshot.ts'
import { Selectors, type TypeTest } from './class-selector.ts'
import { type ANNOTATION_PLACES, listOf, type PatternSpec, type Rule } from './rule-set.ts'
import { Subjects } from './subjects.ts'
import { type Found, SourceMembers, typeName } from './violation.ts'

/** Finds classes that a rule about names, places, supertypes or required annotations does not allow. */
export function* findClasses(snapshot: Snapshot, rule: Rule): Generator<void, readonly Found[]> {
  const selectors = new Selectors(snapshot)
  const isSubject = selectors.of(rule.classes)
  const { isAllowed, target, what } = demandOf(selectors, rule)
  const found: Found[] = []
  for (const classId of new Subjects(snapshot, rule.includeTests === true).all()) {
    yield
    const name = snapshot.index.nameIdOf(classId)
    if (!isJudged(snapshot, classId) || !isSubject(name) || isAllowed(name)) continue
    found.push({ classId, member: null, lineNumber: null, target, what })
  }
  return found
}

interface Demand {
  readonly isAllowed: TypeTest
  readonly target: string
  readonly what: string
}

function demandOf(selectors: Selectors, rule: Rule): Demand {
  const { mustBeAnnotatedWith, mustResideIn, mustBeNamed, mustBeSubtypeOf, mustNotBeSubtypeOf } = rule
  if (mustBeAnnotatedWith !== undefined)
    return demand(mustBeAnnotatedWith, 'is not annotated with', selectors.annotatedWith(mustBeAnnotatedWith))
  if (mustResideIn !== undefined)
    return demand(mustResideIn, 'does not reside in', selectors.byName(mustResideIn))
  if (mustBeNamed !== undefined)
    return demand(mustBeNamed, 'is not named', selectors.bySimpleName(mustBeNamed))
  if (mustBeSubtypeOf !== undefined)
    return demand(mustBeSubtypeOf, 'is not a subtype of', selectors.subtypesOf(mustBeSubtypeOf))
  const isSubtype = selectors.subtypesOf(mustNotBeSubtypeOf ?? [])
  return demand(mustNotBeSubtypeOf ?? [], 'is a subtype of', (name) => !isSubtype(name))
}

function demand(spec: PatternSpec, verb: string, isAllowed: TypeTest): Demand {
  const target = listOf(spec).join(' or ')
  return { isAllowed, target, what: `${verb} ${target}` }
}

/** Whether a class is written as such: not an anonymous, local or generated class, a package or a module. */
function isJudged(snapshot: Snapshot, classId: number): boolean {
  const slice = snapshot.index.sliceOf(classId)
  const { classes, strings } = snapshot.facts(slice)
  const row = classId - slice.firstClass
  if (((classes.accessFlags[row] ?? 0) & (ACC.SYNTHETIC | ACC.MODULE)) !== 0) return false
  if ((classes.enclosingClass[row] ?? -1) >= 0) return false
  return !strings.get(classes.name[row] ?? 0).endsWith('package-info')
}

const PLACES: Readonly<Record<number, (typeof ANNOTATION_PLACES)[number]>> = {
  [TARGET.CLASS]: 'class',
  [TARGET.FIELD]: 'field',
  [TARGET.FIELD_TYPE]: 'field',
  [TARGET.METHOD]: 'method',
  [TARGET.METHOD_TYPE]: 'method',
  [TARGET.PARAMETER]: 'parameter',
  [TARGET.PARAMETER_TYPE]: 'parameter',
}

/** Finds annotations that a rule forbids, also if another annotation carries them. */
export function* findAnnotations(snapshot: Snapshot, rule: Rule): Generator<void, readonly Found[]> {
  const { index } = snapshot
  const selectors = new Selectors(snapshot)
  const isSubject = selectors.of(rule.classes)
  const code = WrittenCode.of(snapshot)
  const own = new Set(new Subjects(snapshot, rule.includeTests === true).all())
  const found = new Map<string, Found>()
  for (const annotation of selectors.typesNamed(rule.mustNotBeAnnotatedWith ?? [])) {
    const forbidden = typeName(snapshot, annotation)
    for (const { slice, row, id: compiled, targetKind } of matchingAnnotations(snapshot, annotation)) {
      yield
      const id = code.classOf(compiled)
      if (!own.has(id) || !isSubject(index.nameIdOf(id))) continue
      const facts = snapshot.facts(slice)
      const target = targetOf(facts, row)
      const [written] = target.method === undefined ? [] : code.placesOf(compiled, target.method)
      // Compilers copy annotations to bridges.
      if (target.method !== undefined && (written === undefined || written.method === CLASS_ITSELF)) continue
      const at = written === undefined ? target : memberAt(snapshot, written)
      const place =
        at.member === '<init>' && PLACES[targetKind] === 'method' ? 'constructor' : PLACES[targetKind]
      if (place === undefined || (rule.on !== undefined && rule.on !== place)) continue
      const { member, lineNumber } = new SourceMembers(snapshot, id).place(at.member, at.descriptor, null)
      const what = `has ${forbidden}${place === 'parameter' ? ' on a parameter' : ''}`
      found.set(`${id} ${at.member} ${at.descriptor} ${forbidden}`, {
        classId: id,
        member,
        lineNumber,
        target: forbidden,
        what,
      })
    }
  }
  const ranks = index.ranks()
  return [...found.values()].toSorted((a, b) => (ranks[a.classId] ?? 0) - (ranks[b.classId] ?? 0))
}
