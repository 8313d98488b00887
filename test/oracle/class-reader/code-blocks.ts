import { ClassFormatError } from './class-format-error.ts'
import { instructions, OP } from './opcodes.ts'

/** A method's code with checked reads; offsets are relative to the code. */
export class Code {
  readonly bytes: readonly number[]

  constructor(bytes: readonly number[]) {
    this.bytes = bytes
  }

  u1(at: number): number {
    const byte = this.bytes[at]
    if (byte === undefined) throw new ClassFormatError(0, 'an instruction reaches beyond the code')
    return byte
  }

  u2(at: number): number {
    return (this.u1(at) << 8) | this.u1(at + 1)
  }

  s2(at: number): number {
    return (this.u2(at) << 16) >> 16
  }

  s4(at: number): number {
    return (this.u2(at) << 16) | this.u2(at + 2)
  }
}

/**
 * Finds where blocks start because they can be reached other than from the previous instruction. Also checks
 * that instructions follow each other to the end of the code, so that a walk need not check lengths again.
 *
 * @throws ClassFormatError
 */
export function findBlocks(code: Code, handlers: readonly number[]): ReadonlySet<number> {
  const { length } = code.bytes
  const targets = new Set(handlers)
  const jump = (pc: number, distance: number) => {
    const target = pc + distance
    if (target < 0 || target >= length)
      throw new ClassFormatError(0, `a jump from ${pc} targets ${target}, outside the code`)
    targets.add(target)
  }
  for (let pc = 0; pc < length;) {
    const opcode = code.u1(pc)
    const next = pc + lengthAt(code, pc)
    if (next > length) throw new ClassFormatError(0, 'an instruction reaches beyond the code')
    if ((opcode >= OP.IFEQ && opcode <= OP.JSR) || opcode === OP.IFNULL || opcode === OP.IFNONNULL)
      jump(pc, code.s2(pc + 1))
    else if (opcode === OP.GOTO_W || opcode === OP.JSR_W) jump(pc, code.s4(pc + 1))
    else if (opcode === OP.TABLESWITCH || opcode === OP.LOOKUPSWITCH) {
      const start = operandsOfSwitch(pc)
      const isTable = opcode === OP.TABLESWITCH
      jump(pc, code.s4(start))
      for (let at = start + 12 - (isTable ? 0 : 4); at < next; at += isTable ? 4 : 8)
        jump(pc, code.s4(isTable ? at : at + 4))
    }
    const leaves =
      (opcode >= OP.GOTO && opcode <= OP.RETURN) ||
      opcode === OP.ATHROW ||
      opcode === OP.GOTO_W ||
      opcode === OP.JSR_W
    if (leaves) targets.add(next)
    pc = next
  }
  return targets
}

/** Size in bytes, including the opcode. */
export function lengthAt(code: Code, pc: number): number {
  const opcode = code.u1(pc)
  if (opcode === OP.WIDE) return code.u1(pc + 1) === OP.IINC ? 6 : 4
  if (opcode === OP.TABLESWITCH || opcode === OP.LOOKUPSWITCH) {
    const start = operandsOfSwitch(pc)
    const isTable = opcode === OP.TABLESWITCH
    const count = isTable ? code.s4(start + 8) - code.s4(start + 4) + 1 : code.s4(start + 4)
    if (count < 0) throw new ClassFormatError(0, `a switch has ${count} cases`)
    return start + (isTable ? 12 + 4 * count : 8 + 8 * count) - pc
  }
  const instruction = instructions[opcode]
  if (instruction === undefined) throw new ClassFormatError(0, `unknown opcode ${opcode}`)
  return 1 + instruction.operands
}

/** Operands are aligned to the start of the code. */
function operandsOfSwitch(pc: number): number {
  return (pc + 4) & ~3
}
