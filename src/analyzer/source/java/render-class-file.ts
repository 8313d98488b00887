import type { MethodView, showClass } from '../../query/types/class-show.ts'
import { isVisible, type VisibilityLevel } from './visibility.ts'

type ClassView = ReturnType<typeof showClass>

const LEVEL: Readonly<Record<ClassView['visibility'], VisibilityLevel>> = {
  PUBLIC: 'public',
  PROTECTED: 'protected',
  PACKAGE_PRIVATE: 'package',
  PRIVATE: 'private',
}

/** Renders a class from its class file, with erased types, for lack of source. */
export function renderClassFile(
  view: ClassView,
  excerpt: 'stub' | 'signatures',
  least: VisibilityLevel,
): string {
  const isShown = ({ visibility, isSynthetic = false }: Shown): boolean =>
    !isSynthetic && isVisible(LEVEL[visibility], least)
  const isStub = excerpt === 'stub'
  const members = [
    ...view.fields.filter(isShown).map((field) => {
      const words = [...wordsOf(field.visibility), ...flags(field), field.type, field.name]
      return words.join(' ') + (isStub ? ';' : '')
    }),
    ...[...view.constructors, ...view.methods]
      .filter(isShown)
      .map((method) => methodLine(view, method) + (isStub ? (!method.isAbstract ? ' { }' : ';') : '')),
  ]
  const head = headOf(view)
  if (!isStub) return [head, ...members].join('\n')
  const inPackage = view.name.packageName === '' ? [] : [`package ${view.name.packageName};`, '']
  return [...inPackage, `${head} {`, ...members.map((member) => `    ${member}`), '}'].join('\n')
}

interface Shown {
  readonly visibility: ClassView['visibility']
  readonly isSynthetic?: boolean
}

function headOf(view: ClassView): string {
  const kind = {
    CLASS: 'class',
    INTERFACE: 'interface',
    ENUM: 'enum',
    ANNOTATION: '@interface',
    RECORD: 'record',
  }
  const own = view.type === 'CLASS' ? flags({ isAbstract: view.isAbstract, isFinal: view.isFinal }) : []
  const components = (view.recordComponents ?? []).map(({ type, name }) => `${type} ${name}`).join(', ')
  const superclass =
    view.type === 'CLASS' && view.superclass !== 'java.lang.Object' ? view.superclass : undefined
  const interfaces = view.type === 'ANNOTATION' ? [] : view.interfaces
  return [
    ...wordsOf(view.visibility),
    ...own,
    ...(view.isSealed ? ['sealed'] : []),
    kind[view.type],
    view.name.simpleName + (view.isRecord ? `(${components})` : ''),
    ...(superclass === undefined ? [] : ['extends', superclass]),
    ...(interfaces.length === 0 ? [] : [view.isInterface ? 'extends' : 'implements', interfaces.join(', ')]),
    ...(view.permittedSubclasses === undefined ? [] : ['permits', view.permittedSubclasses.join(', ')]),
  ].join(' ')
}

function methodLine(view: ClassView, method: MethodView): string {
  const isConstructor = method.name === '<init>'
  const parameters = method.parameters.map(({ type, name }) => `${type} ${name}`).join(', ')
  const isDefault = view.isInterface && !method.isAbstract && !method.isStatic
  return [
    ...wordsOf(method.visibility),
    ...(isDefault ? ['default'] : []),
    ...flags(view.isInterface ? { ...method, isAbstract: false } : method),
    ...(isConstructor ? [] : [method.returnType]),
    `${isConstructor ? view.name.simpleName : method.name}(${parameters})`,
    ...(method.exceptions.length === 0 ? [] : ['throws', method.exceptions.join(', ')]),
  ].join(' ')
}

function wordsOf(visibility: ClassView['visibility']): readonly string[] {
  return visibility === 'PACKAGE_PRIVATE' ? [] : [visibility.toLowerCase()]
}

function flags(each: {
  readonly isStatic?: boolean
  readonly isAbstract?: boolean
  readonly isFinal?: boolean
}): readonly string[] {
  return [
    ...(each.isAbstract === true ? ['abstract'] : []),
    ...(each.isStatic === true ? ['static'] : []),
    ...(each.isFinal === true ? ['final'] : []),
  ]
}
