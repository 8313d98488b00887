import type { AnnotationView, ValueView } from '../../query/annotations/annotation-value.ts'

/**
 * Formats an annotation's attributes as in source, `path = "/orders", required = true`. Empty ones are
 * omitted.
 */
export function attributesText({ parameters }: AnnotationView): string {
  return Object.entries(parameters)
    .filter(([, value]) => !isEmpty(value))
    .map(([name, value]) => `${name} = ${valueText(value)}`)
    .join(', ')
}

function isEmpty(value: ValueView): boolean {
  return value.kind === 'ARRAY' ? value.items.length === 0 : value.kind === 'STRING' && value.value === ''
}

function valueText(value: ValueView): string {
  if (value.kind === 'ARRAY') {
    const [only, ...others] = value.items.map(valueText)
    return only !== undefined && others.length === 0 ? only : `{${[only, ...others].join(', ')}}`
  }
  if (value.kind === 'ANNOTATION') return `@${value.annotation.type}(${attributesText(value.annotation)})`
  if (value.kind === 'CLASS') return `${value.value}.class`
  if (value.kind === 'STRING') return JSON.stringify(value.value)
  return value.kind === 'CHAR' ? `'${value.value}'` : value.value
}
