import type { Tool } from '@modelcontextprotocol/sdk/types.js'
import { defineFaults } from '../errors/fault.ts'

const fault = defineFaults({ INVALID_ARGUMENT: 'invalid' })

type Arguments = Readonly<Record<string, unknown>>

/** Schema of one argument of a tool. */
export interface ToolParameter {
  readonly type: 'string' | 'boolean' | 'integer'
  readonly description: string
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
}

/** A tool for agents: its input schema, and the request that its arguments mean. */
export interface AgentTool<Request> {
  readonly tool: Tool
  /** @throws INVALID_ARGUMENT when an argument is unknown, missing, of another type or out of range */
  readonly request: (args: Arguments) => Request
}

/** Description of a tool. */
interface ToolSettings {
  readonly name: string
  readonly description: string
  readonly parameters: Readonly<Record<string, ToolParameter>>
  readonly required: readonly string[]
  /** Whether it changes nothing. */
  readonly isReadOnly: boolean
  /** Whether a change may lose something; clients assume it if it is not set. */
  readonly isDestructive?: boolean
}

/** Least budget of an answer, below which not even its notes fit. */
export const LEAST_TOKENS = 100

/** Parameters of every tool. */
const COMMON_PARAMETERS: Readonly<Record<string, ToolParameter>> = {
  maxTokens: {
    type: 'integer',
    minimum: LEAST_TOKENS,
    description: 'maximum length of the answer; default 4000',
  },
  offset: {
    type: 'integer',
    minimum: 0,
    description: 'first row of a long list, from a truncated answer',
  },
}

/** Defines a tool. Its request gets checked arguments, without those that every tool has. */
export function defineTool<Request>(
  { name, description, parameters, required, isReadOnly, isDestructive }: ToolSettings,
  request: AgentTool<Request>['request'],
): AgentTool<Request> {
  const known = { ...parameters, ...COMMON_PARAMETERS }
  return {
    tool: {
      name,
      description,
      inputSchema: {
        type: 'object',
        properties: known,
        required: [...required],
        additionalProperties: false,
      },
      annotations: {
        title: description,
        readOnlyHint: isReadOnly,
        ...(isDestructive !== undefined && { destructiveHint: isDestructive }),
        openWorldHint: false,
      },
    },
    request(args) {
      for (const key of required) {
        if (args[key] === undefined || args[key] === '')
          throw fault('INVALID_ARGUMENT', `parameter "${key}" is missing`)
      }
      for (const [key, value] of Object.entries(args)) check(key, value, known)
      const { maxTokens: _maxTokens, offset: _offset, ...about } = args
      return request(about)
    },
  }
}

function check(key: string, value: unknown, known: Readonly<Record<string, ToolParameter>>): void {
  const parameter = Object.hasOwn(known, key) ? known[key] : undefined
  if (parameter === undefined) {
    const names = Object.keys(known).join(', ')
    throw fault('INVALID_ARGUMENT', `unknown parameter "${key.slice(0, 80)}"; known parameters: ${names}`)
  }
  const got = JSON.stringify(value)?.slice(0, 80)
  const isFitting =
    parameter.type === 'integer' ? Number.isSafeInteger(value) : typeof value === parameter.type
  if (!isFitting)
    throw fault('INVALID_ARGUMENT', `parameter "${key}" must be of type ${parameter.type}, not ${got}`)
  const { minimum = -Infinity, maximum = Infinity } = parameter
  if (typeof value === 'number' && (value < minimum || value > maximum))
    throw fault('INVALID_ARGUMENT', `parameter "${key}" must be ${rangeText(parameter)}, not ${got}`)
}

function rangeText({ minimum, maximum }: ToolParameter): string {
  if (maximum === undefined) return `at least ${minimum}`
  return minimum === undefined ? `at most ${maximum}` : `from ${minimum} to ${maximum}`
}
