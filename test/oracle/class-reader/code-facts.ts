import { TARGET } from '../../../src/analyzer/bytecode/columns.ts'
import { addAnnotations } from './annotation-facts.ts'
import { CodeWalk, type Line } from './code-walk.ts'
import { Code, findBlocks } from './code-blocks.ts'
import type { ClassContext } from './class-context.ts'
import { ClassFormatError } from './class-format-error.ts'
import type { Attribute } from './java-class-tools.ts'

/** Debug information of a method from its Code attribute. */
export interface MethodDebug {
  readonly firstLine: number
  readonly lastLine: number
  /** Names of parameters from LocalVariableTable, by slot. */
  readonly localNames: ReadonlyMap<number, string>
}

/** @param firstSlots number of local variables for parameters, including `this` */
export function addCode(context: ClassContext, attribute: Attribute, firstSlots: number): MethodDebug {
  if (attribute.code.length === 0 || attribute.code.length > 65535)
    throw new ClassFormatError(0, `code_length is ${attribute.code.length}, not 1 to 65535`)
  const named = (name: string) => attribute.attributes.filter((each) => context.nameOf(each) === name)
  const lines = named('LineNumberTable')
    .flatMap((table) => table.line_number_table)
    .toSorted((a, b) => a.start_pc - b.start_pc)
  const localNames = new Map<number, string>()
  for (const { start_pc: start, name_index: name, index } of named('LocalVariableTable').flatMap(
    (table) => table.local_variable_table,
  ))
    if (start === 0 && index < firstSlots && index < 256) localNames.set(index, context.pool.utf8(name))

  const method = context.facts.tables.methods.name.length - 1
  for (const each of attribute.attributes)
    if (context.nameOf(each).endsWith('TypeAnnotations')) addAnnotations(context, each, TARGET.METHOD, method)

  const code = new Code(attribute.code)
  const table = attribute.exception_table
  for (const { handler_pc: handler } of table)
    if (handler >= attribute.code.length)
      throw new ClassFormatError(0, `handler_pc ${handler} is beyond the code`)
  const blocks = findBlocks(
    code,
    table.map((entry) => entry.handler_pc),
  )
  const walk = new CodeWalk(context, code, lines, attribute)
  walk.run(blocks)
  // A handler with several ranges, which a return in the middle splits, counts as one catch.
  const caught = new Set(
    table
      .filter((entry) => entry.catch_type !== 0)
      .map((entry) => entry.handler_pc * 65536 + entry.catch_type),
  )
  for (const entry of Array.from(caught).toSorted((a, b) => a - b))
    walk.addTypeReference(entry % 65536, 0, lineAt(lines, Math.floor(entry / 65536)))
  const numbers = lines.map((line) => line.line_number)
  return {
    firstLine: numbers.length === 0 ? -1 : numbers.reduce((a, b) => Math.min(a, b)),
    lastLine: numbers.reduce((a, b) => Math.max(a, b), -1),
    localNames,
  }
}

function lineAt(lines: readonly Line[], pc: number): number {
  return lines.findLast((line) => line.start_pc <= pc)?.line_number ?? -1
}
