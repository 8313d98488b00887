import { DIRECTIVE } from '../../../src/analyzer/bytecode/columns.ts'
import type { ClassContext } from './class-context.ts'
import type { Attribute } from './java-class-tools.ts'
import { TAG } from './pool.ts'

/** Adds the directives of a Module attribute (JVMS §4.7.25). */
export function addModule(context: ClassContext, attribute: Attribute): void {
  const { pool, facts } = context
  const text = (index: number, tag: number) => context.intern(pool.text(index, tag))
  const add = (kind: number, name: number, flags: number, targets: readonly number[]) => {
    for (const target of targets.length === 0 ? [-1] : targets)
      facts.add('moduleDirectives', { kind, name, flags, target })
  }
  const modules = (indices: readonly number[] | undefined) =>
    (indices ?? []).map((index) => text(index, TAG.MODULE))

  const version = context.utf8OrNone(attribute.module_version_index)
  add(DIRECTIVE.MODULE, text(attribute.module_name_index, TAG.MODULE), attribute.module_flags, [version])
  for (const each of attribute.requires) {
    const name = text(each.requires_index, TAG.MODULE)
    add(DIRECTIVE.REQUIRES, name, each.requires_flags, [context.utf8OrNone(each.requires_version_index)])
  }
  for (const each of attribute.exports) {
    const name = text(each.exports_index ?? 0, TAG.PACKAGE)
    add(DIRECTIVE.EXPORTS, name, each.exports_flags ?? 0, modules(each.exports_to_index))
  }
  for (const each of attribute.opens) {
    const name = text(each.opens_index ?? 0, TAG.PACKAGE)
    add(DIRECTIVE.OPENS, name, each.opens_flags ?? 0, modules(each.opens_to_index))
  }
  for (const index of attribute.uses_index) add(DIRECTIVE.USES, text(index, TAG.CLASS), 0, [])
  for (const each of attribute.provides) {
    const providers = each.provides_with_index.map((index) => text(index, TAG.CLASS))
    add(DIRECTIVE.PROVIDES, text(each.provides_index, TAG.CLASS), 0, providers)
  }
}
