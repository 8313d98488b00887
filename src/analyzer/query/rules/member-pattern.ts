import { typesOfMethod } from '../names.ts'
import { wildcard } from '../wildcard.ts'
import { ClassPattern, patternProblem } from './class-pattern.ts'

/** A pattern for members: `owner#name`, or `owner#name(types)` for one overload of a method. */
export class MemberPattern {
  readonly owner: ClassPattern
  readonly #matchesName: (name: string) => boolean
  readonly #parameters: string | undefined

  /** @param pattern without a problem */
  constructor(pattern: string) {
    const { owner, name, parameters } = partsOf(pattern)
    this.owner = new ClassPattern(owner)
    this.#matchesName = wildcard(name)
    this.#parameters = parameters?.replaceAll(' ', '')
  }

  /** Whether a member with a name, and a method's descriptor, matches; its owner is not compared. */
  matches(name: string, descriptor: string): boolean {
    if (!this.#matchesName(name)) return false
    return (
      this.#parameters === undefined || typesOfMethod(descriptor).parameters.join(',') === this.#parameters
    )
  }
}

/** Returns why a text is not a valid pattern for members; undefined if it is valid. */
export function memberPatternProblem(pattern: string): string | undefined {
  const { owner, name } = partsOf(pattern)
  if (owner === '' || name === '')
    return 'must be owner#name, for example java.lang.System#exit or java.util.Date#<init>'
  if (!/^[^\s().]+$/.test(name)) return 'must have a name, "*" or "<init>" after "#"'
  return patternProblem(owner)
}

function partsOf(pattern: string) {
  const hash = pattern.indexOf('#')
  const member = hash < 0 ? '' : pattern.slice(hash + 1)
  const open = member.endsWith(')') ? member.indexOf('(') : -1
  return {
    owner: pattern.slice(0, Math.max(0, hash)),
    name: open < 0 ? member : member.slice(0, open),
    parameters: open < 0 ? undefined : member.slice(open + 1, -1),
  }
}
