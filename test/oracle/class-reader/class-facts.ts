import { TARGET, TRAIT } from '../../../src/analyzer/bytecode/columns.ts'
import { addAnnotations, markRepeatedOnTypes } from './annotation-facts.ts'
import { ClassContext } from './class-context.ts'
import type { FactsBuilder } from './facts-builder.ts'
import type { Attribute, ClassFile } from './java-class-tools.ts'
import { ACC_SYNTHETIC, addField, addMethod } from './member-facts.ts'
import { addModule } from './module-facts.ts'
import { parseDescriptor } from './descriptor.ts'
import { Pool, TAG } from './pool.ts'
import { RawBytes, readRecordAttribute } from './raw-attributes.ts'

/** Adds a class. @throws ClassFormatError when it cannot be read; some of its rows may remain */
export function addClass(facts: FactsBuilder, file: ClassFile, input: number): void {
  const pool = new Pool(file.constant_pool)
  const name = pool.className(file.this_class)
  const firstAnnotation = facts.tables.annotations.type.length
  const context = new ClassContext(file, pool, facts, name)
  const none = {
    signature: -1,
    sourceFile: -1,
    outerClass: -1,
    innerName: -1,
    enclosingClass: -1,
    enclosingMethod: -1,
    enclosingDescriptor: -1,
    nestHost: -1,
  }
  const row = facts.add('classes', {
    ...none,
    input,
    majorVersion: file.major_version,
    minorVersion: file.minor_version,
    accessFlags: file.access_flags,
    name: context.intern(name),
    superName: context.classOrNone(file.super_class),
  })
  for (const index of file.interfaces)
    facts.add('interfaces', { name: context.intern(pool.className(index)) })
  addPoolReferences(context)
  for (const field of file.fields) addField(context, field)
  for (const method of file.methods) addMethod(context, method)
  for (const attribute of file.attributes)
    if (!addAnnotations(context, attribute, TARGET.CLASS, row)) addAttribute(context, attribute, row)
  markRepeatedOnTypes(context, firstAnnotation)
}

function addPoolReferences(context: ClassContext): void {
  const { pool } = context
  for (let index = 1; index < pool.count; index++) {
    const tag = pool.tag(index)
    if (tag === TAG.CLASS) {
      const name = pool.className(index)
      if (name.startsWith('[')) context.addReferences(parseDescriptor(name))
      else context.addReference(name)
    } else if (tag === TAG.NAME_AND_TYPE) context.addReferencesOf(pool.nameAndType(index).descriptor)
    else if (tag === TAG.METHOD_TYPE) context.addReferencesOf(pool.text(index, tag))
  }
}

function addAttribute(context: ClassContext, attribute: Attribute, row: number): void {
  const { pool, facts } = context
  const { classes } = facts.tables
  const setTrait = (bit: number) => (classes.traits[row] = (classes.traits[row] ?? 0) | bit)
  const className = (index: number) => context.intern(pool.className(index))
  switch (context.nameOf(attribute)) {
    case 'Deprecated':
      setTrait(TRAIT.DEPRECATED)
      break
    case 'Synthetic':
      classes.accessFlags[row] = (classes.accessFlags[row] ?? 0) | ACC_SYNTHETIC
      break
    case 'EnclosingMethod':
      classes.enclosingClass[row] = className(attribute.class_index)
      if (attribute.method_index !== 0) {
        const method = pool.nameAndType(attribute.method_index)
        classes.enclosingMethod[row] = context.intern(method.name)
        classes.enclosingDescriptor[row] = context.intern(method.descriptor)
      }
      break
    case 'InnerClasses':
      addInnerClasses(context, attribute, row)
      break
    case 'Module':
      addModule(context, attribute)
      break
    case 'NestHost':
      classes.nestHost[row] = className(attribute.host_class_index)
      break
    case 'NestMembers':
      for (const index of attribute.classes as unknown as readonly number[])
        facts.add('nestMembers', { name: className(index) })
      break
    case 'PermittedSubclasses': {
      setTrait(TRAIT.SEALED)
      const raw = new RawBytes(attribute)
      for (const index of raw.list(() => raw.u2()))
        facts.add('permittedSubclasses', { name: className(index) })
      break
    }
    case 'Record':
      setTrait(TRAIT.RECORD)
      addRecordComponents(context, attribute)
      break
    case 'Signature':
      classes.signature[row] = context.signature(attribute)
      break
    case 'SourceFile':
      classes.sourceFile[row] = context.intern(pool.utf8(attribute.sourcefile_index))
      break
    default:
  }
}

function addInnerClasses(context: ClassContext, attribute: Attribute, row: number): void {
  const { classes } = context.facts.tables
  for (const each of attribute.classes) {
    const innerClass = context.intern(context.pool.className(each.inner_class_info_index))
    const outerClass = context.classOrNone(each.outer_class_info_index)
    const innerName = context.utf8OrNone(each.inner_name_index)
    const accessFlags = each.inner_class_access_flags
    context.facts.add('innerClasses', { innerClass, outerClass, innerName, accessFlags })
    if (innerClass !== classes.name[row]) continue
    classes.outerClass[row] = outerClass
    classes.innerName[row] = innerName
    classes.innerAccessFlags[row] = accessFlags
  }
}

function addRecordComponents(context: ClassContext, record: Attribute): void {
  const { pool, facts } = context
  const raw = new RawBytes(record)
  raw.list(() => {
    const name = context.intern(pool.utf8(raw.u2()))
    const descriptor = context.intern(pool.utf8(raw.u2()))
    const row = facts.add('recordComponents', { name, descriptor, signature: -1 })
    raw.list(() => {
      const inner = raw.attribute()
      const attribute = readRecordAttribute(inner, context.nameOf(inner))
      if (addAnnotations(context, attribute, TARGET.RECORD_COMPONENT, row)) return
      if (context.nameOf(inner) === 'Signature')
        facts.tables.recordComponents.signature[row] = context.signature(attribute)
    })
  })
}
