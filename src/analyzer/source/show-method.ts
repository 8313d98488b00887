import { fault } from '../errors.ts'
import type { Scan } from '../scan/scan.ts'
import { showClass } from '../query/types/class-show.ts'
import { type MethodText, parseParameterTypes } from './java/find-methods.ts'
import { textOf } from './show-source.ts'
import type { ClassText, SourceService, TextOptions } from './source-service.ts'

/** Options of a query for a method's source. */
export interface MethodSourceOptions {
  readonly method: string
  /** "int, java.lang.String", or "()" for none; undefined for all overloads. */
  readonly parameterTypes: string | undefined
  readonly contextLines: number
}

/** Source of a method. */
export interface MethodSourceView extends MethodText {
  readonly classFqn: string
  readonly methodName: string
  readonly sourceOrigin: ClassText['origin']
  readonly filePath: string | null
  /** All matching overloads, including the first, if there are several. */
  readonly overloads?: readonly MethodText[]
}

/**
 * Returns the source of a class's methods or constructors with a name. For classes not written in Java, the
 * decompiled text.
 *
 * @throws CLASS_NOT_FOUND, METHOD_NOT_FOUND, and as `SourceService.text`
 */
export async function showMethod(
  service: SourceService,
  scan: Scan,
  fqn: string,
  { method, parameterTypes, contextLines }: MethodSourceOptions,
  options: Omit<TextOptions, 'language'>,
): Promise<MethodSourceView> {
  const origin = await service.find(scan, fqn, 'java')
  const text = await service.text(scan.snapshot, origin, { ...options, language: 'java' })
  const types = parameterTypes === undefined ? undefined : parseParameterTypes(parameterTypes)
  const extracted = await service.extract({
    ...textOf(text),
    wanted: { is: 'methods', query: { name: method, parameterTypes: types, contextLines } },
  })
  const methods = extracted?.is === 'methods' ? extracted.methods : []
  const [first] = methods
  if (first === undefined) throw methodNotFound(scan, text, method, parameterTypes)
  return {
    classFqn: text.fqn,
    methodName: method,
    ...first,
    sourceOrigin: text.origin,
    filePath: text.filePath,
    ...(methods.length > 1 && { overloads: methods }),
  }
}

function methodNotFound(scan: Scan, { fqn }: ClassText, method: string, parameterTypes: string | undefined) {
  const { constructors, methods, name } = showClass(scan.snapshot, fqn, { synthetic: false })
  const isConstructor = method === '<init>' || method === name.simpleName
  const compiled = isConstructor ? constructors : methods.filter((each) => each.name === method)
  const which = `${fqn} has no method "${method}"`
  if (compiled.length === 0) return fault('METHOD_NOT_FOUND', which)
  const overloads = compiled
    .map(({ parameters }) => `(${parameters.map(({ type }) => type).join(', ')})`)
    .join(' ')
  return parameterTypes === undefined
    ? fault('METHOD_NOT_FOUND', `"${method}" of ${fqn} has no source: the compiler generated it`)
    : fault(
        'METHOD_NOT_FOUND',
        `${which} with the parameters (${parameterTypes}); existing overloads: ${overloads}`,
      )
}
