import { OPCODE } from '../../../src/analyzer/bytecode/columns.ts'

/** Size and stack effect of an instruction, if independent of its operands (JVMS §6.5). */
export interface Instruction {
  /** Operand bytes after the opcode. */
  readonly operands: number
  /** In slots. */
  readonly pops: number
  readonly pushes: number
}

// Runs of similar opcodes: count, operand bytes, slots popped, slots pushed. Opcodes handled by the walk have
// 0 0.
const runs = `
  1 0 0 0   8 0 0 1   2 0 0 2   3 0 0 1   2 0 0 2   1 1 0 1   1 2 0 1   1 1 0 1   1 2 0 1   1 2 0 2
  5 1 0 0   20 0 0 0
  1 0 2 1   1 0 2 2   1 0 2 1   1 0 2 2   4 0 2 1
  5 1 0 0   20 0 0 0
  1 0 3 0   1 0 4 0   1 0 3 0   1 0 4 0   4 0 3 0
  1 0 1 0   1 0 2 0   7 0 0 0
  1 0 2 1   1 0 4 2   1 0 2 1   1 0 4 2   1 0 2 1   1 0 4 2   1 0 2 1   1 0 4 2
  1 0 2 1   1 0 4 2   1 0 2 1   1 0 4 2   1 0 2 1   1 0 4 2   1 0 2 1   1 0 4 2
  1 0 2 1   1 0 4 2   1 0 2 1   1 0 4 2   1 0 1 1   1 0 2 2   1 0 1 1   1 0 2 2
  1 0 2 1   1 0 3 2   1 0 2 1   1 0 3 2   1 0 2 1   1 0 3 2
  1 0 2 1   1 0 4 2   1 0 2 1   1 0 4 2   1 0 2 1   1 0 4 2
  1 2 0 0
  1 0 1 2   1 0 1 1   1 0 1 2   2 0 2 1   1 0 2 2   1 0 1 1   2 0 1 2   1 0 2 1   1 0 2 2   1 0 2 1   3 0 1 1
  1 0 4 1   2 0 2 1   2 0 4 1
  6 2 1 0   8 2 2 0   1 2 0 0   1 2 0 1   1 1 0 0   2 0 1 0
  1 0 1 0   1 0 2 0   1 0 1 0   1 0 2 0   1 0 1 0   1 0 0 0
  4 2 0 0   3 2 0 0   2 4 0 0
  1 2 0 1   1 1 1 1   1 2 1 1   1 0 1 1   1 0 1 0   1 2 0 0   1 2 1 1   2 0 1 0
  1 0 0 0   1 3 0 0   2 2 1 0   1 4 0 0   1 4 0 1`

/** By opcode, up to jsr_w (201), the last one. */
export const instructions: readonly Instruction[] = (runs.match(/\d+/g) ?? [])
  .map(Number)
  .flatMap((_, at, all) => {
    if (at % 4 !== 0) return []
    const [count = 0, operands = 0, pops = 0, pushes = 0] = all.slice(at, at + 4)
    return Array.from({ length: count }, () => ({ operands, pops, pushes }))
  })

export const OP = {
  ICONST_M1: 2,
  ICONST_5: 8,
  LCONST_0: 9,
  LCONST_1: 10,
  FCONST_0: 11,
  FCONST_2: 13,
  DCONST_0: 14,
  DCONST_1: 15,
  BIPUSH: 16,
  SIPUSH: 17,
  LDC: 18,
  LDC_W: 19,
  LDC2_W: 20,
  ILOAD: 21,
  ALOAD: 25,
  ILOAD_0: 26,
  ALOAD_3: 45,
  ISTORE: 54,
  ASTORE: 58,
  ISTORE_0: 59,
  ASTORE_3: 78,
  DUP: 89,
  SWAP: 95,
  IINC: 132,
  IFEQ: 153,
  GOTO: 167,
  JSR: 168,
  RET: 169,
  TABLESWITCH: 170,
  LOOKUPSWITCH: 171,
  RETURN: 177,
  GETSTATIC: 178,
  PUTSTATIC: 179,
  PUTFIELD: 181,
  INVOKEVIRTUAL: 182,
  INVOKESTATIC: 184,
  INVOKEINTERFACE: 185,
  INVOKEDYNAMIC: 186,
  NEW: OPCODE.NEW,
  ANEWARRAY: 189,
  ATHROW: 191,
  CHECKCAST: 192,
  INSTANCEOF: 193,
  WIDE: 196,
  MULTIANEWARRAY: 197,
  IFNULL: 198,
  IFNONNULL: 199,
  GOTO_W: 200,
  JSR_W: 201,
} as const
