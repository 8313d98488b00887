import { Type } from '../../lib/schema/type.ts'

/** Maximum bytes of input in one request. */
const MAX_INPUT_BYTES = 32_768
const side = Type.Integer({ minimum: 1, maximum: 1_000 })

/** Schema of input for a terminal, and of its size. */
export const terminalInputSchema = Type.Object(
  {
    input: Type.Optional(
      Type.String({
        // Whole groups of four characters.
        pattern: '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$',
        maxLength: Math.ceil(MAX_INPUT_BYTES / 3) * 4,
        description: 'bytes to type, in Base64',
      }),
    ),
    size: Type.Optional(Type.Object({ columns: side, rows: side }, { additionalProperties: false })),
  },
  { additionalProperties: false },
)

/** Schema of an event of a terminal's stream. */
export const terminalEventSchema = Type.Object({
  data: Type.Optional(Type.String({ description: 'bytes of output, in Base64' })),
})

/** Event `state` of a terminal's stream. */
export interface WireTerminalState {
  readonly status: string
  readonly reason: string
  /** Whether it will not start again by itself. */
  readonly over: boolean
}

/** Event `lost` of a terminal's stream. */
export interface WireLostOutput {
  readonly bytes: number
}

/** Returns the line that a terminal shows in place of output that its viewer missed. */
export function lostOutputText(bytes: number): string {
  return `\r\n[${bytes} bytes were printed too fast to show]\r\n`
}
