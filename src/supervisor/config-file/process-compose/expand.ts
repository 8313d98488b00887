import { configFault } from '../../../lib/config/check.ts'

const REFERENCE = /\$\$|\$\{([^}]*)\}|\$([A-Za-z_]\w*|[*#@!?\-0-9])/g

/**
 * Replaces `$NAME` and `${NAME}` in the text of a file before it is parsed as YAML; an unknown name is empty, `$$` a dollar
 * sign. Source: process-compose, which uses os.Expand of Go.
 */
export function expandVariables(text: string, lookUp: (name: string) => string | undefined): string {
  return text.replace(REFERENCE, (all, braced?: string, plain?: string) =>
    all === '$$' ? '$' : (lookUp(braced ?? plain ?? '') ?? ''),
  )
}

const ACTION = /(\s*)\{\{(-?)\s*([\s\S]*?)\s*(-?)\}\}(\s*)/g

/**
 * Replaces `{{.NAME}}` with variables, `{{"text"}}` with the text.
 *
 * @throws CONFIG_INVALID for any other action of Go's templates, with the key
 */
export function renderTemplate(
  template: string,
  variables: Readonly<Record<string, unknown>>,
  key: string,
): string {
  if (!template.includes('{{')) return template
  return template.replace(
    ACTION,
    (_, before: string, trimsBefore: string, action: string, trimsAfter: string, after: string) =>
      (trimsBefore === '' ? before : '') + valueOf(action, variables, key) + (trimsAfter === '' ? after : ''),
  )
}

function valueOf(action: string, variables: Readonly<Record<string, unknown>>, key: string): string {
  const [, quoted] = /^"([^"\\]*)"$/.exec(action) ?? []
  if (quoted !== undefined) return quoted
  const [, path] = /^((?:\.\w+)+)$/.exec(action) ?? []
  if (path === undefined)
    throw configFault(
      'CONFIG_INVALID',
      `"${key}" has the template action {{${action}}}, which is not supported; {{.NAME}} is`,
    )
  let value: unknown = variables
  for (const name of path.slice(1).split('.'))
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? (value as Readonly<Record<string, unknown>>)[name]
        : undefined
  if (value === undefined) return '<no value>'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
