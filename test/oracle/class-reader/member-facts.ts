import { CONSTANT, TARGET, TRAIT } from '../../../src/analyzer/bytecode/columns.ts'
import { addAnnotationDefault, addAnnotations, addParameterAnnotations } from './annotation-facts.ts'
import type { ClassContext } from './class-context.ts'
import { addCode, type MethodDebug } from './code-facts.ts'
import { requireDescriptor, slotsOf, type Descriptor } from './descriptor.ts'
import { ClassFormatError } from './class-format-error.ts'
import type { Attribute, Member } from './java-class-tools.ts'
import { TAG } from './pool.ts'

const ACC_STATIC = 0x0008
export const ACC_SYNTHETIC = 0x1000

type Row = Readonly<Record<string, number[]>>

function orInto(table: Row, column: string, row: number, bits: number): void {
  const values = table[column] ?? []
  values[row] = (values[row] ?? 0) | bits
}

function addMember(context: ClassContext, member: Member, table: 'fields' | 'methods', isMethod: boolean) {
  const descriptor = context.pool.utf8(member.descriptor_index)
  const parsed = requireDescriptor(descriptor, isMethod)
  const row = context.facts.add(table, {
    name: context.intern(context.pool.utf8(member.name_index)),
    descriptor: context.intern(descriptor),
    accessFlags: member.access_flags,
    signature: -1,
    ...(isMethod ? { firstLine: -1, lastLine: -1 } : {}),
  })
  context.addReferences(parsed)
  return { row, parsed, own: context.facts.tables[table] as Row }
}

/** Adds attributes common to fields and methods; returns false for any other attribute. */
function addShared(context: ClassContext, attribute: Attribute, own: Row, row: number): boolean {
  switch (context.nameOf(attribute)) {
    case 'Signature':
      ;(own['signature'] ?? [])[row] = context.signature(attribute)
      return true
    case 'Deprecated':
      orInto(own, 'traits', row, TRAIT.DEPRECATED)
      return true
    case 'Synthetic':
      orInto(own, 'accessFlags', row, ACC_SYNTHETIC)
      return true
    default:
      return false
  }
}

export function addField(context: ClassContext, member: Member): void {
  const { row, own } = addMember(context, member, 'fields', false)
  for (const attribute of member.attributes) {
    if (addAnnotations(context, attribute, TARGET.FIELD, row)) continue
    if (addShared(context, attribute, own, row)) continue
    if (context.nameOf(attribute) === 'ConstantValue')
      addConstantValue(context, attribute.constantvalue_index, row)
  }
}

function addConstantValue(context: ClassContext, index: number, row: number): void {
  const { pool } = context
  const { fields } = context.facts.tables
  const set = (kind: number, low: number, high = 0) => {
    fields.constantKind[row] = kind
    fields.constant[row] = low
    fields.constantHigh[row] = high
  }
  const tag = pool.tag(index)
  switch (tag) {
    case TAG.INTEGER:
      return set(CONSTANT.INT, pool.word(index, tag))
    case TAG.FLOAT:
      return set(CONSTANT.FLOAT, pool.word(index, tag))
    case TAG.LONG:
      return set(CONSTANT.LONG, ...pool.twoWords(index, tag))
    case TAG.DOUBLE:
      return set(CONSTANT.DOUBLE, ...pool.twoWords(index, tag))
    case TAG.STRING:
      return set(CONSTANT.STRING, context.intern(pool.text(index, tag)))
    default:
      return pool.fail(index, 'constant that a field can have')
  }
}

export function addMethod(context: ClassContext, member: Member): void {
  const { row, parsed, own } = addMember(context, member, 'methods', true)
  const { facts } = context
  const receiver = (member.access_flags & ACC_STATIC) === 0 ? 1 : 0
  let hasParameters = false
  let debug: MethodDebug | undefined
  for (const attribute of member.attributes) {
    if (addAnnotations(context, attribute, TARGET.METHOD, row)) continue
    if (addShared(context, attribute, own, row)) continue
    const name = context.nameOf(attribute)
    switch (name) {
      case 'Code':
        if (debug !== undefined) throw new ClassFormatError(0, 'a method has two Code attributes')
        orInto(own, 'traits', row, TRAIT.HAS_CODE)
        debug = addCode(context, attribute, slotsOf(parsed.parameters) + receiver)
        facts.tables.methods.firstLine[row] = debug.firstLine
        facts.tables.methods.lastLine[row] = debug.lastLine
        break
      case 'Exceptions':
        for (const index of attribute.exception_index_table)
          facts.add('exceptions', { name: context.intern(context.pool.className(index)) })
        break
      case 'MethodParameters':
        hasParameters = true
        for (const each of attribute.parameters)
          facts.add('parameters', {
            name: context.utf8OrNone(each.name_index),
            accessFlags: each.access_flags,
          })
        break
      case 'RuntimeVisibleParameterAnnotations':
      case 'RuntimeInvisibleParameterAnnotations':
        addParameterAnnotations(
          context,
          attribute,
          row,
          Number(name === 'RuntimeVisibleParameterAnnotations'),
        )
        break
      case 'AnnotationDefault':
        addAnnotationDefault(context, attribute, row)
        break
      default:
    }
  }
  if (hasParameters || debug === undefined || debug.localNames.size === 0) return
  orInto(own, 'traits', row, TRAIT.DEBUG_NAMES)
  addLocalNames(context, debug, parsed, receiver)
}

function addLocalNames(
  context: ClassContext,
  { localNames }: MethodDebug,
  { parameters }: Descriptor,
  receiver: number,
): void {
  let slot = receiver
  for (const slots of parameters) {
    const name = localNames.get(slot)
    context.facts.add('parameters', { name: name === undefined ? -1 : context.intern(name) })
    slot += slots
  }
}
