import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { commandLine } from '../../../scripts/command-line.ts'
import { type SchemaNode, valueSchema } from '../../../src/lib/config/check.ts'
import { environmentKeys } from '../../../src/lib/config/environment.ts'
import { packageRoot } from '../../../src/lib/process/package.ts'

/** The pages of a program's reference, `docs/PROGRAM/*.md`, as one text. */
export class Reference {
  readonly text: string

  constructor(program: string) {
    const pages = globSync(`docs/${program}/*.md`, { cwd: packageRoot }).toSorted()
    this.text = pages.map((page) => readFileSync(join(packageRoot, page), 'utf8')).join('\n')
  }

  /** Returns the cells of the first table whose first heading is `heading`. @throws Error when there is none. */
  table(heading: string): readonly (readonly string[])[] {
    return this.tables(heading)[0] ?? []
  }

  /** Returns the cells of each table whose first heading is `heading`. @throws Error when there is none. */
  tables(heading: string): readonly (readonly (readonly string[])[])[] {
    const lines = this.text.split('\n')
    const starts = [...lines.keys()].filter((index) => lines[index]?.startsWith(`| ${heading} |`))
    if (starts.length === 0) throw new Error(`the reference has no table headed "${heading}"`)
    return starts.map((start) => {
      const below = lines.slice(start + 2)
      const end = below.findIndex((line) => !line.startsWith('|'))
      return below.slice(0, end === -1 ? undefined : end).map((line) =>
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim()),
      )
    })
  }
}

/** Returns the code spans of a table cell. */
export function spans(cell = ''): readonly string[] {
  return [...cell.matchAll(/(?<!`)`([^`]+)`(?!`)/g)].map(([, text]) => text ?? '')
}

/** Returns each word once, sorted. */
export const sorted = (words: Iterable<string>): readonly string[] => [...new Set(words)].toSorted()

/** Every key of a schema, with names of the user's own as `<name>`. */
export function keysOf(node: SchemaNode, path: readonly string[] = []): readonly string[] {
  const { properties } = node
  if (properties) return Object.entries(properties).flatMap(([key, child]) => keysOf(child, [...path, key]))
  const ofMap = valueSchema(node)
  return ofMap?.properties ? keysOf(ofMap, [...path, '<name>']) : [path.join('.')]
}

/** Every key with its variable and default, as the page shows them. */
export function settingRows(prefix: string, schema: SchemaNode): readonly (readonly string[])[] {
  const variables = environmentKeys(prefix, schema)
  const defaults = new Map<string, unknown>()
  const visit = (node: SchemaNode, path: readonly string[]): void => {
    defaults.set(path.join('.'), node.default)
    for (const [key, child] of Object.entries(node.properties ?? {})) visit(child, [...path, key])
  }
  visit(schema, [])
  return keysOf(schema).map((key) => {
    const value = defaults.get(key)
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    const variable = variables.find(({ path }) => path.join('.') === key)?.variable
    return [
      `\`${key}\``,
      variable === undefined ? '–' : `\`${variable}\``,
      text === undefined ? '–' : `\`${text}\``,
    ]
  })
}

/** Every command with its arguments, and its options. */
export function commandsOf(
  command: Command,
  path: string,
): readonly (readonly [string, readonly string[]])[] {
  const visible = command.options.filter(({ hidden }) => !hidden)
  const flags = visible.map((option) => option.flags)
  return [
    [commandLine(command, path), flags],
    ...command.commands.flatMap((child) => commandsOf(child, `${path} ${child.name()}`)),
  ]
}

/** Every route that a server describes, with the statuses of its success. */
export async function describedRoutes(url: string) {
  const body = (await (await fetch(`${url}/openapi.json`)).json()) as {
    readonly paths: Record<
      string,
      Record<string, { readonly responses: object; readonly parameters?: readonly Parameter[] }>
    >
  }
  return Object.entries(body.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { responses, parameters = [] }]) => ({
      route: `${method.toUpperCase()} ${path}`,
      success: Object.keys(responses).filter((status) => /^[123]\d\d$/.test(status)),
      parameters: parameters.flatMap(({ in: where, name }) => (where === 'query' ? [name] : [])),
    })),
  )
}

interface Parameter {
  readonly in: string
  readonly name: string
}

/** Served beside the API and so not in its description. */
export const ROUTES_BESIDE = ['GET /openapi.json', 'GET /reference', 'GET /metrics']

/** The metrics of a server that are its own. */
export async function ownMetrics(url: string): Promise<readonly string[]> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return [...text.matchAll(/^# TYPE (\S+)/gm)]
    .map(([, name]) => name ?? '')
    .filter((name) => !/^(?:process|nodejs)_/.test(name))
}

/** Words in capitals, options and routes that the page names anywhere. */
export function namedInPassing(text: string) {
  return {
    shouted: sorted([...text.matchAll(/\b[A-Z]+(?:_+[A-Z]+)+\b/g)].map(([word]) => word)),
    flags: sorted([...text.matchAll(/(?<=[\s`])--[a-z][a-z-]*/g)].map(([flag]) => flag)),
  }
}
