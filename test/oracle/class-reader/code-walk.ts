import { CONSTANT } from '../../../src/analyzer/bytecode/columns.ts'
import type { ClassContext } from './class-context.ts'
import { lengthAt, type Code } from './code-blocks.ts'
import { requireDescriptor, slotsOf } from './descriptor.ts'
import { ClassFormatError } from './class-format-error.ts'
import { Frame, isWide, type Value } from './frame.ts'
import type { Attribute } from './java-class-tools.ts'
import { instructions, OP } from './opcodes.ts'
import { TAG } from './pool.ts'

const { INT, LONG, FLOAT, DOUBLE, STRING, CLASS } = CONSTANT
const floatBits = [0, 0x3f800000, 0x40000000]

/** An entry of LineNumberTable. */
export interface Line {
  readonly start_pc: number
  readonly line_number: number
}

/** Walks a method's code and records calls, their constants, and references. */
export class CodeWalk {
  readonly #context: ClassContext
  readonly #code: Code
  readonly #lines: readonly Line[]
  readonly #frame: Frame
  #line = -1

  constructor(context: ClassContext, code: Code, lines: readonly Line[], attribute: Attribute) {
    this.#context = context
    this.#code = code
    this.#lines = lines
    this.#frame = new Frame(attribute.max_stack, attribute.max_locals)
  }

  run(blocks: ReadonlySet<number>): void {
    let next = 0
    for (let pc = 0; pc < this.#code.bytes.length; pc += lengthAt(this.#code, pc)) {
      // The last of several lines at one pc counts.
      for (
        let line = this.#lines[next];
        line !== undefined && line.start_pc <= pc;
        line = this.#lines[++next]
      )
        this.#line = line.line_number
      if (blocks.has(pc)) this.#frame.startBlock()
      this.#step(pc, this.#code.u1(pc))
    }
  }

  addTypeReference(index: number, opcode: number, line: number): void {
    const name = this.#context.intern(this.#context.pool.className(index))
    this.#context.facts.add('typeReferences', { name, opcode, line })
  }

  #step(pc: number, opcode: number): void {
    const code = this.#code
    const frame = this.#frame
    if (opcode >= OP.ICONST_M1 && opcode <= OP.ICONST_5)
      frame.push({ kind: INT, low: opcode - OP.ICONST_M1 - 1 })
    else if (opcode === OP.LCONST_0 || opcode === OP.LCONST_1)
      frame.push({ kind: LONG, low: opcode - OP.LCONST_0, high: 0 }, 2)
    else if (opcode >= OP.FCONST_0 && opcode <= OP.FCONST_2)
      frame.push({ kind: FLOAT, low: floatBits[opcode - OP.FCONST_0] ?? 0 })
    else if (opcode === OP.DCONST_0 || opcode === OP.DCONST_1)
      frame.push({ kind: DOUBLE, low: 0, high: opcode === OP.DCONST_0 ? 0 : 0x3ff00000 }, 2)
    else if (opcode === OP.BIPUSH) frame.push({ kind: INT, low: (code.u1(pc + 1) << 24) >> 24 })
    else if (opcode === OP.SIPUSH) frame.push({ kind: INT, low: code.s2(pc + 1) })
    else if (opcode === OP.LDC) this.#loadConstant(code.u1(pc + 1), 1)
    else if (opcode === OP.LDC_W) this.#loadConstant(code.u2(pc + 1), 1)
    else if (opcode === OP.LDC2_W) this.#loadConstant(code.u2(pc + 1), 2)
    else if (opcode >= OP.ILOAD_0 && opcode <= OP.ALOAD_3)
      this.#load((opcode - OP.ILOAD_0) >> 2, (opcode - OP.ILOAD_0) & 3)
    else if (opcode >= OP.ILOAD && opcode <= OP.ALOAD) this.#load(opcode - OP.ILOAD, code.u1(pc + 1))
    else if (opcode >= OP.ISTORE_0 && opcode <= OP.ASTORE_3)
      frame.store((opcode - OP.ISTORE_0) & 3, slotsOfType((opcode - OP.ISTORE_0) >> 2))
    else if (opcode >= OP.ISTORE && opcode <= OP.ASTORE)
      frame.store(code.u1(pc + 1), slotsOfType(opcode - OP.ISTORE))
    else if (opcode >= OP.DUP && opcode < OP.SWAP)
      frame.duplicate(opcode < OP.DUP + 3 ? 1 : 2, (opcode - OP.DUP) % 3)
    else if (opcode === OP.SWAP) frame.swap()
    else if (opcode === OP.IINC) frame.forget(code.u1(pc + 1))
    else if (opcode === OP.WIDE) this.#wide(code.u1(pc + 1), code.u2(pc + 2))
    else if (opcode >= OP.GETSTATIC && opcode <= OP.PUTFIELD) this.#field(opcode, code.u2(pc + 1))
    else if (opcode >= OP.INVOKEVIRTUAL && opcode <= OP.INVOKEINTERFACE) this.#invoke(opcode, code.u2(pc + 1))
    else if (opcode === OP.INVOKEDYNAMIC) this.#invokeDynamic(code.u2(pc + 1))
    else this.#plain(pc, opcode)
  }

  #plain(pc: number, opcode: number): void {
    if (
      opcode === OP.NEW ||
      opcode === OP.ANEWARRAY ||
      opcode === OP.CHECKCAST ||
      opcode === OP.INSTANCEOF ||
      opcode === OP.MULTIANEWARRAY
    )
      this.addTypeReference(this.#code.u2(pc + 1), opcode, this.#line)
    const { pops = 0, pushes = 0 } = instructions[opcode] ?? {}
    this.#frame.pop(opcode === OP.MULTIANEWARRAY ? this.#code.u1(pc + 3) : pops)
    this.#frame.push(undefined, opcode === OP.MULTIANEWARRAY ? 1 : pushes)
  }

  #loadConstant(index: number, slots: number): void {
    const { pool } = this.#context
    const tag = pool.tag(index)
    if (tag !== TAG.DYNAMIC && slots !== (tag === TAG.LONG || tag === TAG.DOUBLE ? 2 : 1))
      pool.fail(index, `constant of ${slots} slots`)
    this.#frame.push(this.#constant(index, tag), slots)
  }

  #constant(index: number, tag: number): Value | undefined {
    const { pool } = this.#context
    switch (tag) {
      case TAG.INTEGER:
      case TAG.FLOAT:
        return { kind: tag === TAG.INTEGER ? INT : FLOAT, low: pool.word(index, tag) }
      case TAG.LONG:
      case TAG.DOUBLE: {
        const [low, high] = pool.twoWords(index, tag)
        return { kind: tag === TAG.LONG ? LONG : DOUBLE, low, high }
      }
      case TAG.STRING:
        return { kind: STRING, text: pool.text(index, tag) }
      case TAG.CLASS:
        this.addTypeReference(index, OP.LDC, this.#line)
        return { kind: CLASS, text: pool.className(index) }
      case TAG.METHOD_HANDLE:
      case TAG.METHOD_TYPE:
      case TAG.DYNAMIC:
        return undefined
      default:
        return pool.fail(index, 'loadable constant')
    }
  }

  #load(type: number, index: number): void {
    this.#frame.push(this.#frame.load(index), slotsOfType(type))
  }

  #wide(opcode: number, index: number): void {
    if (opcode >= OP.ILOAD && opcode <= OP.ALOAD) this.#load(opcode - OP.ILOAD, index)
    else if (opcode >= OP.ISTORE && opcode <= OP.ASTORE)
      this.#frame.store(index, slotsOfType(opcode - OP.ISTORE))
    else if (opcode === OP.IINC) this.#frame.forget(index)
    else if (opcode !== OP.RET) throw new ClassFormatError(0, `wide cannot precede opcode ${opcode}`)
  }

  #field(opcode: number, index: number): void {
    const { pool, facts } = this.#context
    if (pool.tag(index) !== TAG.FIELDREF) pool.fail(index, 'Fieldref')
    const member = pool.member(index)
    const slots = requireDescriptor(member.descriptor, false).resultSlots
    // putstatic and putfield have odd opcodes.
    const isPut = opcode % 2 === 1
    this.#frame.pop((isPut ? slots : 0) + (opcode <= OP.PUTSTATIC ? 0 : 1))
    if (!isPut) this.#frame.push(undefined, slots)
    facts.add('fieldAccesses', { ...this.#ids(member), opcode, line: this.#line })
  }

  #invoke(opcode: number, index: number): void {
    const { pool, facts } = this.#context
    if (pool.tag(index) === TAG.FIELDREF) pool.fail(index, 'method')
    const member = pool.member(index)
    const { parameters, resultSlots } = requireDescriptor(member.descriptor, true)
    facts.add('calls', {
      ...this.#ids(member),
      opcode,
      isInterface: Number(member.isInterface),
      line: this.#line,
    })
    this.#addArguments(parameters)
    this.#frame.pop(slotsOf(parameters) + (opcode === OP.INVOKESTATIC ? 0 : 1))
    this.#frame.push(undefined, resultSlots)
  }

  #addArguments(parameters: readonly number[]): void {
    let below = slotsOf(parameters)
    for (const [index, slots] of parameters.entries()) {
      const value = this.#frame.peek(below)
      if (value !== undefined && isWide(value) === (slots === 2)) {
        const { kind, text, low = 0, high = 0 } = value
        const stored = text === undefined ? low : this.#context.intern(text)
        this.#context.facts.add('arguments', { index, kind, value: stored, high })
      }
      below -= slots
    }
  }

  #invokeDynamic(index: number): void {
    const { pool, facts, bootstrapMethods } = this.#context
    const site = pool.dynamic(index)
    const { parameters, resultSlots } = requireDescriptor(site.descriptor, true)
    const bootstrap = bootstrapMethods[site.bootstrapMethod]
    if (bootstrap === undefined)
      throw new ClassFormatError(0, `bootstrap method does not exist: ${site.bootstrapMethod}`)
    const { owner, name } = pool.methodHandle(bootstrap.bootstrap_method_ref).member
    const found = bootstrap.bootstrap_arguments.find((argument) => pool.tag(argument) === TAG.METHOD_HANDLE)
    const handle = found === undefined ? undefined : pool.methodHandle(found)
    const ids = handle && this.#ids(handle.member)
    facts.add('dynamicCalls', {
      name: this.#context.intern(site.name),
      descriptor: this.#context.intern(site.descriptor),
      bootstrapOwner: this.#context.intern(owner),
      bootstrapName: this.#context.intern(name),
      handleKind: handle?.kind ?? 0,
      handleIsInterface: Number(handle?.member.isInterface ?? false),
      handleOwner: ids?.owner ?? -1,
      handleName: ids?.name ?? -1,
      handleDescriptor: ids?.descriptor ?? -1,
      line: this.#line,
    })
    this.#addTypesOfSite(owner, name, site.descriptor, bootstrap)
    this.#frame.pop(slotsOf(parameters))
    this.#frame.push(undefined, resultSlots)
  }

  #addTypesOfSite(owner: string, name: string, descriptor: string, bootstrap: BootstrapMethod): void {
    if (owner === 'java/lang/runtime/ObjectMethods' || owner === 'java/lang/invoke/StringConcatFactory')
      return
    const opcode = BOOTSTRAP_OPCODES[owner] ?? OP.LDC
    if (opcode === OP.INSTANCEOF && name === 'enumSwitch')
      for (const each of requireDescriptor(descriptor, true).classes) this.#addNamedReference(each, opcode)
    this.#addBootstrapTypes(bootstrap, opcode, 0)
  }

  #addBootstrapTypes(bootstrap: BootstrapMethod, opcode: number, depth: number): void {
    const { pool, bootstrapMethods } = this.#context
    for (const argument of bootstrap.bootstrap_arguments) {
      if (pool.tag(argument) === TAG.CLASS) this.addTypeReference(argument, opcode, this.#line)
      if (pool.tag(argument) !== TAG.DYNAMIC || depth === MAX_CONSTANT_DEPTH) continue
      const inner = bootstrapMethods[pool.dynamic(argument, TAG.DYNAMIC).bootstrapMethod]
      if (inner === undefined) continue
      this.#addDescribedClass(inner, opcode)
      this.#addBootstrapTypes(inner, opcode, depth + 1)
    }
  }

  #addDescribedClass({ bootstrap_arguments: all }: BootstrapMethod, opcode: number): void {
    const { pool } = this.#context
    const [factory = 0, text = 0] = all
    if (all.length !== 2 || pool.tag(factory) !== TAG.METHOD_HANDLE || pool.tag(text) !== TAG.STRING) return
    const { owner, name } = pool.methodHandle(factory).member
    if (owner !== 'java/lang/constant/ClassDesc' || name !== 'of') return
    const described = pool.text(text, TAG.STRING).replaceAll('.', '/')
    this.#addNamedReference(described, opcode)
    this.#context.addReference(described)
  }

  #addNamedReference(name: string, opcode: number): void {
    this.#context.facts.add('typeReferences', { name: this.#context.intern(name), opcode, line: this.#line })
  }

  #ids(member: { readonly owner: string; readonly name: string; readonly descriptor: string }) {
    const { owner, name, descriptor } = member
    const intern = (text: string) => this.#context.intern(text)
    return { owner: intern(owner), name: intern(name), descriptor: intern(descriptor) }
  }
}

type BootstrapMethod = ClassContext['bootstrapMethods'][number]

const MAX_CONSTANT_DEPTH = 4
const BOOTSTRAP_OPCODES: Readonly<Record<string, number>> = {
  'java/lang/runtime/SwitchBootstraps': OP.INSTANCEOF,
  'java/lang/invoke/LambdaMetafactory': OP.CHECKCAST,
}

/** Types in the order of the opcodes: int, long, float, double, reference. */
function slotsOfType(type: number): number {
  return type === 1 || type === 3 ? 2 : 1
}
