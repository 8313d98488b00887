import type { ConstantPool, Cursor } from './constant-pool.ts'

const LDC = 18
const LDC_W = 19
const LDC2_W = 20
const IINC = 132
const TABLESWITCH = 170
const LOOKUPSWITCH = 171
const GETSTATIC = 178
const INVOKEINTERFACE = 185
const INVOKEDYNAMIC = 186
const NEW = 187
const ANEWARRAY = 189
const CHECKCAST = 192
const INSTANCEOF = 193
const WIDE = 196
const MULTIANEWARRAY = 197
const LAST = 201

/** Bytes of operands of the opcodes in ranges, up to the first number (JVMS §6.5). */
const OPERANDS: readonly (readonly [last: number, bytes: number])[] = [
  [15, 0],
  [16, 1],
  [17, 2],
  [18, 1],
  [20, 2],
  [25, 1],
  [53, 0],
  [58, 1],
  [131, 0],
  [132, 2],
  [152, 0],
  [168, 2],
  [169, 1],
  [177, 0],
  [184, 2],
  [186, 4],
  [187, 2],
  [188, 1],
  [189, 2],
  [191, 0],
  [193, 2],
  [195, 0],
  [197, 3],
  [199, 2],
  [201, 4],
]

const operandBytes = Uint8Array.from(
  { length: LAST + 1 },
  (_, opcode) => OPERANDS.find(([last]) => opcode <= last)?.[1] ?? 0,
)

/** Whether an instruction begins its operands with the number of a constant. */
function hasConstant(opcode: number): boolean {
  return (
    (opcode >= LDC_W && opcode <= LDC2_W) ||
    (opcode >= GETSTATIC && opcode <= NEW) ||
    [ANEWARRAY, CHECKCAST, INSTANCEOF, MULTIANEWARRAY].includes(opcode)
  )
}

/**
 * Returns the instructions up to `end` with resolved constants. Branches keep their distances, so code with a
 * constant that needs a longer instruction differs.
 *
 * @throws Error for an unknown instruction
 */
export function instructionsOf(cursor: Cursor, end: number, pool: ConstantPool): string {
  const start = cursor.at
  const texts: string[] = []
  while (cursor.at < end) {
    const opcode = cursor.u1()
    if (opcode > LAST) throw new Error(`instruction ${opcode} is unknown`)
    if (opcode === TABLESWITCH || opcode === LOOKUPSWITCH)
      texts.push(`${opcode}:${switchOperands(cursor, start, opcode)}`)
    else if (opcode === WIDE) {
      const widened = cursor.u1()
      texts.push(`${opcode}:${widened}:${cursor.hex(widened === IINC ? 4 : 2)}`)
    } else if (opcode === LDC) texts.push(`${LDC_W}:${pool.text(cursor.u1())}`)
    else if (hasConstant(opcode)) {
      const constant = pool.text(cursor.u2())
      const rest =
        opcode === INVOKEINTERFACE || opcode === INVOKEDYNAMIC ? 2 : opcode === MULTIANEWARRAY ? 1 : 0
      texts.push(`${opcode}:${constant}:${cursor.hex(rest)}`)
    } else texts.push(`${opcode}:${cursor.hex(operandBytes[opcode] ?? 0)}`)
  }
  return texts.join(' ')
}

function switchOperands(cursor: Cursor, start: number, opcode: number): string {
  while ((cursor.at - start) % 4 !== 0) cursor.u1()
  const otherwise = cursor.hex(4)
  const first = cursor.u4()
  if (opcode === LOOKUPSWITCH) return `${otherwise}:${cursor.hex(8 * first)}`
  const last = cursor.u4()
  return `${otherwise}:${first}:${cursor.hex(4 * ((last | 0) - (first | 0) + 1))}`
}
