/** How a class or member differs from an older version. */
export type ChangeWord = 'added' | 'removed' | 'changed'

/** A method or field that differs. */
export interface MemberChange {
  readonly name: string
  /** JVM descriptor; that of a method begins with a parenthesis. Absent for all members with the name. */
  readonly descriptor?: string | undefined
  readonly change: ChangeWord
}

/** A class that differs. */
export interface ClassChange {
  readonly classFqn: string
  readonly change: ChangeWord
  /** Whether its flags, supertypes or annotations differ; all of its members then count as changed. */
  readonly isHeaderChanged: boolean
  readonly members: readonly MemberChange[]
}

/** A source file that differs. */
export interface FileChange {
  /** Path relative to the project's root, with "/". */
  readonly path: string
  /** Whether it no longer exists. */
  readonly isRemoved?: boolean | undefined
  /**
   * Ranges of changed lines in the present file. Absent: all. A range from n + 1 to n means that lines between
   * n and n + 1 were removed.
   */
  readonly lines?: readonly (readonly [from: number, to: number])[] | undefined
}
