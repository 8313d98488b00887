import type { JavaNode } from './java-parser.ts'

/** Returns an erased type, without type arguments and annotations: "Map.Entry[]". */
function erasedType(node: JavaNode): string {
  switch (node.type) {
    case 'generic_type':
    case 'annotated_type': {
      const named = node.namedChildren.filter((child) => isType(child))
      const type = node.type === 'generic_type' ? named[0] : named.at(-1)
      return type === undefined ? node.text : erasedType(type)
    }
    case 'array_type': {
      const element = node.childForFieldName('element')
      return (element === null ? node.text : erasedType(element)) + dimensionsOf(node)
    }
    case 'scoped_type_identifier':
      return node.namedChildren
        .filter((child) => isType(child))
        .map(erasedType)
        .join('.')
    default:
      return node.text
  }
}

/** Returns the "[]" after a type or name. */
export function dimensionsOf(node: JavaNode): string {
  const dimensions = node.childForFieldName('dimensions')
  const count = dimensions?.children.filter((child) => child.type === '[').length ?? 0
  return '[]'.repeat(count)
}

/** Returns the erased types of a declaration's parameters, except a receiver parameter. */
export function parameterTypes(declaration: JavaNode): readonly string[] {
  const parameters = declaration.childForFieldName('parameters')?.namedChildren ?? []
  return parameters.flatMap((parameter) => {
    if (parameter.type !== 'formal_parameter' && parameter.type !== 'spread_parameter') return []
    const type = parameter.childForFieldName('type') ?? parameter.namedChildren.find((child) => isType(child))
    if (type === undefined) return []
    const suffix = parameter.type === 'spread_parameter' ? '[]' : ''
    return [erasedType(type) + dimensionsOf(parameter) + suffix]
  })
}

/** Returns the bounds of a declaration's type variables: Number for "T extends Number", Object for "T". */
export function typeVariables(declaration: JavaNode): ReadonlyMap<string, string> {
  const list = declaration.childForFieldName('type_parameters')?.namedChildren ?? []
  return new Map(
    list.flatMap((parameter): [string, string][] => {
      if (parameter.type !== 'type_parameter') return []
      const named = parameter.namedChildren
      const name = named.find((child) => child.type === 'type_identifier' || child.type === 'identifier')
      const bound = named.find((child) => child.type === 'type_bound')?.namedChildren.find(isType)
      return name === undefined ? [] : [[name.text, bound === undefined ? 'Object' : erasedType(bound)]]
    }),
  )
}

/** Whether two names can denote the same type: the shorter may lack packages and outer classes. */
export function isSameType(wanted: string, declared: string): boolean {
  const [longer, shorter] = wanted.length > declared.length ? [wanted, declared] : [declared, wanted]
  return longer === shorter || longer.endsWith(`.${shorter}`)
}

function isType(node: JavaNode): boolean {
  return node.type.endsWith('_type') || node.type.endsWith('type_identifier')
}
