import { type Facts, rows } from '../../bytecode/facts.ts'
import { isMetafactory } from '../../bytecode/written-methods.ts'
import type { IndexedSlice } from '../../index/indexed-slice.ts'
import type { ProjectIndex } from '../../index/project-index.ts'
import type { StringPool } from '../../index/string-pool.ts'

/** JVMS §6.5: calls that are dispatched by the class of the receiver. */
export const DISPATCHED_OPCODES: ReadonlySet<number | undefined> = new Set([182, 185])
/** JVMS §4.4.8: REF_invokeVirtual and REF_invokeInterface, the same for method handles. */
export const DISPATCHED_HANDLES: ReadonlySet<number | undefined> = new Set([5, 9])

/** More than there are methods in a slice, names in an index, or descriptors. */
export const LIMIT = 2 ** 24

/** Returns the number of a method's signature. */
export function signatureOf(name: number, descriptor: number): number {
  return name * LIMIT + descriptor
}

/** Returns the name and the descriptor of a signature. */
export function partsOf(signature: number): { readonly name: number; readonly descriptor: number } {
  const name = Math.floor(signature / LIMIT)
  return { name, descriptor: signature - name * LIMIT }
}

/** A call in a slice. */
export interface CallSite {
  /** Id of the type's name in the bytecode. */
  readonly owner: number
  /** Whether overrides are called too. */
  readonly isDispatched: boolean
  /** Row of the caller in the slice's facts. */
  readonly caller: number
}

/**
 * Calls and method references of a slice by signature of the called method, 8 bytes each and without
 * duplicates. A lambda is a call of its body by the method that creates it. Calls of methods of arrays are
 * omitted, and so are classes hidden by others of the same name.
 */
export class SliceCalls {
  readonly #signatures: Float64Array
  /** Index of each signature's first call. */
  readonly #first: Int32Array
  /** Owner, whether it is dispatched, and caller, combined into one number; sorted within a signature. */
  readonly #calls: Float64Array

  private constructor(signatures: Float64Array, first: Int32Array, calls: Float64Array) {
    this.#signatures = signatures
    this.#first = first
    this.#calls = calls
  }

  /** Packs calls by signature; yields often. */
  static *pack(bySignature: ReadonlyMap<number, readonly number[]>): Generator<void, SliceCalls> {
    const signatures = Float64Array.from(bySignature.keys()).toSorted()
    const first = new Int32Array(signatures.length + 1)
    const parts: Float64Array[] = []
    for (const [at, signature] of signatures.entries()) {
      const distinct = Float64Array.from(new Set(bySignature.get(signature))).toSorted()
      parts.push(distinct)
      first[at + 1] = (first[at] ?? 0) + distinct.length
      yield
    }
    const calls = new Float64Array(first.at(-1) ?? 0)
    for (const [at, part] of parts.entries()) calls.set(part, first[at])
    return new SliceCalls(signatures, first, calls)
  }

  /** Calls `use` with each call of a signature. */
  forEachOf(signature: number, use: (call: CallSite) => void): void {
    const at = this.#find(signature)
    if (this.#signatures[at] !== signature) return
    const end = this.#first[at + 1] ?? 0
    for (let each = this.#first[at] ?? 0; each < end; each++) use(unpacked(this.#calls[each] ?? 0))
  }

  /** Calls `use` with each call of a method name, any if it is undefined, and its signature. */
  forEachOfName(name: number | undefined, use: (signature: number, call: CallSite) => void): void {
    const start = name === undefined ? 0 : this.#find(signatureOf(name, 0))
    for (let at = start; at < this.#signatures.length; at++) {
      const signature = this.#signatures[at] ?? 0
      if (name !== undefined && partsOf(signature).name !== name) break
      this.forEachOf(signature, (call) => use(signature, call))
    }
  }

  /** Written out, because a search does this more often than anything else. */
  #find(signature: number): number {
    const signatures = this.#signatures
    let low = 0
    let high = signatures.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((signatures[middle] ?? 0) < signature) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** Returns the number of an owner and of whether calls on it are dispatched. */
export function receiverOf(owner: number, isDispatched: boolean): number {
  return owner * 2 + Number(isDispatched)
}

/** Returns the owner in the number of a receiver, and whether calls on it are dispatched. */
export function partsOfReceiver(receiver: number): Pick<CallSite, 'owner' | 'isDispatched'> {
  return { owner: receiver >>> 1, isDispatched: (receiver & 1) === 1 }
}

function packed(owner: number, isDispatched: boolean, caller: number): number {
  return receiverOf(owner, isDispatched) * LIMIT + caller
}

function unpacked(call: number): CallSite {
  const receiver = Math.floor(call / LIMIT)
  return { ...partsOfReceiver(receiver), caller: call - receiver * LIMIT }
}

/** Reads the calls in a slice's facts; yields after each class. */
export function* readCalls(
  index: ProjectIndex,
  slice: IndexedSlice,
  facts: Facts,
  descriptors: StringPool,
): Generator<void, SliceCalls> {
  const { classes, methods, calls, dynamicCalls } = facts
  const nameOf = nameReader(index, facts)
  const descriptorOf = descriptorReader(facts, descriptors)
  const found = new Map<number, number[]>()
  const add = (owner = -1, name = -1, descriptor = -1, isDispatched: boolean, caller: number): void => {
    // An owner without a name in the index is an array.
    if (owner < 0 || nameOf(owner) < 0 || nameOf(name) < 0) return
    const signature = signatureOf(nameOf(name), descriptorOf(descriptor))
    const call = packed(nameOf(owner), isDispatched, caller)
    const others = found.get(signature)
    if (others === undefined) found.set(signature, [call])
    else if (others.at(-1) !== call) others.push(call)
  }
  for (let row = 0; row < classes.count; row++) {
    yield
    if (index.isHidden(slice.firstClass + row)) continue
    for (const method of rows(classes.firstMethod, row)) {
      for (const at of rows(methods.firstCall, method)) {
        const isDispatched = DISPATCHED_OPCODES.has(calls.opcode[at])
        add(calls.owner[at], calls.name[at], calls.descriptor[at], isDispatched, method)
      }
      for (const at of rows(methods.firstDynamicCall, method)) {
        if (!isMetafactory(facts, at)) continue
        const { handleOwner, handleName, handleDescriptor, handleKind } = dynamicCalls
        const isDispatched = DISPATCHED_HANDLES.has(handleKind[at])
        add(handleOwner[at], handleName[at], handleDescriptor[at], isDispatched, method)
      }
    }
  }
  yield
  return yield* SliceCalls.pack(found)
}

/** Returns the ids of the descriptors of a slice's methods. */
export function readDescriptors(facts: Facts, descriptors: StringPool): Int32Array {
  return facts.methods.descriptor.map(descriptorReader(facts, descriptors))
}

/** Returns a function that maps a slice's strings to names of the index, or to -1. */
export function nameReader(index: ProjectIndex, { strings }: Facts): (id: number) => number {
  return translated(strings.count, (id) => index.names.find(strings.get(id)) ?? -1)
}

/** Returns a function that maps a slice's strings to a pool of descriptors, where they are added. */
export function descriptorReader(facts: Facts, descriptors: StringPool): (id: number) => number {
  return translated(facts.strings.count, (id) => descriptorId(facts, id, descriptors))
}

function descriptorId({ strings }: Facts, id: number, descriptors: StringPool): number {
  return descriptors.idOf(strings.bytes, strings.offsets[id] ?? 0, strings.offsets[id + 1] ?? 0)
}

/** Caches the results of translating a slice's string ids. */
function translated(count: number, translate: (id: number) => number): (id: number) => number {
  const unknown = -2
  const results = new Int32Array(count).fill(unknown)
  return (id) => {
    const cached = results[id]
    if (cached !== undefined && cached !== unknown) return cached
    return (results[id] = translate(id))
  }
}
