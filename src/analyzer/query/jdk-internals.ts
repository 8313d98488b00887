import { ACC } from '../bytecode/access-flags.ts'
import { DIRECTIVE } from '../bytecode/columns.ts'
import { type Facts, rows } from '../bytecode/facts.ts'
import type { IndexedSlice } from '../index/indexed-slice.ts'
import type { ProjectIndex } from '../index/project-index.ts'

/** Internal packages of a JDK without modules. */
const BEFORE_MODULES = /^(?:sun|com\/sun|jdk\/internal)\//

/** Returns a test whether a class is of the JDK and in a package that its module does not export to all. */
export function jdkInternals(
  index: ProjectIndex,
  factsOf: (slice: IndexedSlice) => Facts,
): (classId: number) => boolean {
  const exported = exportedPackages(index, factsOf)
  return (classId) => {
    if (index.sliceOf(classId).source !== 'JDK') return false
    const name = index.nameOf(classId)
    if (exported.size === 0) return BEFORE_MODULES.test(name)
    return !exported.has(name.slice(0, Math.max(0, name.lastIndexOf('/'))))
  }
}

function exportedPackages(
  { slices }: ProjectIndex,
  factsOf: (slice: IndexedSlice) => Facts,
): ReadonlySet<string> {
  const exported = new Set<string>()
  for (const slice of slices) {
    const { accessFlags } = slice.digest.classes
    if (slice.source !== 'JDK' || !accessFlags.some((flags) => (flags & ACC.MODULE) !== 0)) continue
    const { classes, moduleDirectives: directives, strings } = factsOf(slice)
    for (const [row, flags] of accessFlags.entries()) {
      if ((flags & ACC.MODULE) === 0) continue
      for (const at of rows(classes.firstModuleDirective, row))
        if (directives.kind[at] === DIRECTIVE.EXPORTS && (directives.target[at] ?? -1) < 0)
          exported.add(strings.get(directives.name[at] ?? 0))
    }
  }
  return exported
}
