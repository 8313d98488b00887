import { TARGET } from '../../bytecode/columns.ts'
import { type Facts, rows } from '../../bytecode/facts.ts'
import {
  annotationsOn,
  annotationsOnMember,
  annotationView,
  isOnPart,
  type AnnotationView,
} from '../annotations/annotation-value.ts'
import { ACC } from '../../bytecode/access-flags.ts'
import { classSummary } from './class-summary.ts'
import { toFqn, typeOfDescriptor, typesOfMethod } from '../names.ts'
import { parameterAnnotations } from '../parameters.ts'
import type { Snapshot } from '../snapshot.ts'

type Visibility = 'PUBLIC' | 'PROTECTED' | 'PACKAGE_PRIVATE' | 'PRIVATE'

/** A method or constructor. */
export interface MethodView {
  readonly name: string
  readonly descriptor: string
  readonly visibility: Visibility
  readonly returnType: string
  readonly parameters: readonly {
    readonly name: string
    readonly type: string
    readonly annotations: readonly AnnotationView[]
  }[]
  readonly annotations: readonly AnnotationView[]
  readonly exceptions: readonly string[]
  readonly isStatic: boolean
  readonly isAbstract: boolean
  readonly isFinal: boolean
  readonly isSynthetic: boolean
}

/**
 * Returns a class with its members; with those that a compiler made if `synthetic` is set.
 *
 * @throws CLASS_NOT_FOUND
 */
export function showClass(snapshot: Snapshot, fqn: string, { synthetic }: { readonly synthetic: boolean }) {
  const id = snapshot.getClass(fqn)
  const summary = classSummary(snapshot, id)
  const slice = snapshot.index.sliceOf(id)
  const row = id - slice.firstClass
  const facts = snapshot.facts(slice)
  const { classes, interfaces, strings } = facts
  const flags = slice.digest.classes.accessFlags[row] ?? 0
  const isShown = (accessFlags = 0): boolean => synthetic || (accessFlags & ACC.SYNTHETIC) === 0
  const methods = rows(classes.firstMethod, row)
    .filter((each) => isShown(facts.methods.accessFlags[each]))
    .map((each) => methodView(facts, row, each))
  const superName = classes.superName[row] ?? -1
  const {
    simpleName,
    packageName,
    source,
    isInterface,
    isAbstract,
    isEnum,
    isAnnotation,
    isRecord,
    isSealed,
  } = summary
  return {
    name: { fqn: summary.fqn, simpleName, packageName },
    source,
    location: slice.location,
    visibility: visibilityOf(flags),
    type: summary.type,
    isInterface,
    isAbstract,
    isFinal: (flags & ACC.FINAL) !== 0,
    isEnum,
    isAnnotation,
    isRecord,
    isSealed,
    isSynthetic: (flags & ACC.SYNTHETIC) !== 0,
    // Class files declare Object as the superclass of interfaces; in Java they have none.
    ...(superName >= 0 && !isInterface && { superclass: toFqn(strings.get(superName)) }),
    interfaces: rows(classes.firstInterface, row).map((each) =>
      toFqn(strings.get(interfaces.name[each] ?? 0)),
    ),
    ...(isSealed && {
      permittedSubclasses: rows(classes.firstPermittedSubclass, row).map((each) =>
        toFqn(strings.get(facts.permittedSubclasses.name[each] ?? 0)),
      ),
    }),
    ...(isRecord && {
      recordComponents: rows(classes.firstRecordComponent, row).map((each) => ({
        name: strings.get(facts.recordComponents.name[each] ?? 0),
        type: typeOfDescriptor(strings.get(facts.recordComponents.descriptor[each] ?? 0)),
      })),
    }),
    annotations: annotationsOn(facts, row, TARGET.CLASS, row).map((each) => annotationView(facts, each)),
    constructors: methods.filter(({ name }) => name === '<init>'),
    methods: methods.filter(({ name }) => !name.startsWith('<')),
    fields: rows(classes.firstField, row)
      .filter((each) => isShown(facts.fields.accessFlags[each]))
      .map((each) => fieldView(facts, row, each)),
  }
}

/** Returns the method at a row. */
export function methodView(facts: Facts, classRow: number, row: number): MethodView {
  const { methods, exceptions, strings } = facts
  const flags = methods.accessFlags[row] ?? 0
  const descriptor = strings.get(methods.descriptor[row] ?? 0)
  const { returns } = typesOfMethod(descriptor)
  return {
    name: strings.get(methods.name[row] ?? 0),
    descriptor,
    visibility: visibilityOf(flags),
    returnType: returns,
    parameters: parameterAnnotations(facts, classRow, row).map(({ name, type, annotations }) => ({
      name,
      type,
      annotations: annotations
        .filter((each) => !isOnPart(facts, each))
        .map((each) => annotationView(facts, each)),
    })),
    annotations: annotationsOnMember(facts, classRow, TARGET.METHOD, row).map((each) =>
      annotationView(facts, each),
    ),
    exceptions: rows(methods.firstException, row).map((each) =>
      toFqn(strings.get(exceptions.name[each] ?? 0)),
    ),
    isStatic: (flags & ACC.STATIC) !== 0,
    isAbstract: (flags & ACC.ABSTRACT) !== 0,
    isFinal: (flags & ACC.FINAL) !== 0,
    isSynthetic: (flags & ACC.SYNTHETIC) !== 0,
  }
}

function fieldView(facts: Facts, classRow: number, row: number) {
  const { fields, strings } = facts
  const flags = fields.accessFlags[row] ?? 0
  return {
    name: strings.get(fields.name[row] ?? 0),
    visibility: visibilityOf(flags),
    type: typeOfDescriptor(strings.get(fields.descriptor[row] ?? 0)),
    annotations: annotationsOnMember(facts, classRow, TARGET.FIELD, row).map((each) =>
      annotationView(facts, each),
    ),
    isStatic: (flags & ACC.STATIC) !== 0,
    isFinal: (flags & ACC.FINAL) !== 0,
  }
}

function visibilityOf(flags: number): Visibility {
  if (flags & ACC.PUBLIC) return 'PUBLIC'
  if (flags & ACC.PROTECTED) return 'PROTECTED'
  return flags & ACC.PRIVATE ? 'PRIVATE' : 'PACKAGE_PRIVATE'
}
