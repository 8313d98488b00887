import { toFqn, typesOfMethod } from '../query/names.ts'
import { type ChangeKind, HIDDEN, RULES } from './rules.ts'

/** One difference between two builds. */
export interface Change {
  readonly classFqn: string
  /** Member such as "size()" or "name"; '' for the class itself. */
  readonly member: string
  /** JVM descriptor of the member; '' for the class itself. */
  readonly descriptor: string
  readonly change: ChangeKind
  /** Old and new value, if they add something to the kind. */
  readonly from: string | null
  readonly to: string | null
  /** Whether programs compiled against the old build still link. */
  readonly compatible: boolean
  /** Section of JLS chapter 13. */
  readonly rule: string
  readonly why: string
}

/** Collects the changes of one class. */
export class ChangeList {
  readonly all: Change[] = []
  readonly #classFqn: string
  readonly #isApi: boolean

  constructor(name: string, isApi: boolean) {
    this.#classFqn = toFqn(name)
    this.#isApi = isApi
  }

  /**
   * Adds a change.
   *
   * @param member has `isApi: false` if no other package can use it
   */
  add(
    change: ChangeKind,
    values: { readonly from?: string; readonly to?: string } = {},
    member?: { readonly name: string; readonly descriptor: string; readonly isApi?: boolean },
  ): void {
    const rule = this.#isApi && member?.isApi !== false ? RULES[change] : HIDDEN
    this.all.push({
      classFqn: this.#classFqn,
      member: member === undefined ? '' : memberName(member),
      descriptor: member?.descriptor ?? '',
      change,
      from: values.from ?? null,
      to: values.to ?? null,
      compatible: rule.compatible,
      rule: `JLS ${rule.jls}`,
      why: rule.why,
    })
  }
}

function memberName({ name, descriptor }: { readonly name: string; readonly descriptor: string }): string {
  if (!descriptor.startsWith('(')) return name
  return `${name}(${typesOfMethod(descriptor).parameters.join(', ')})`
}
