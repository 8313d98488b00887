import { parseDescriptor, type Descriptor } from './descriptor.ts'
import type { FactsBuilder } from './facts-builder.ts'
import type { Attribute, ClassFile } from './java-class-tools.ts'
import type { Pool } from './pool.ts'
import { classesOfSignature } from './signature.ts'

/** The current class file, and the destination of its facts. */
export class ClassContext {
  readonly file: ClassFile
  readonly pool: Pool
  readonly facts: FactsBuilder
  readonly bootstrapMethods: Attribute['bootstrap_methods']
  readonly #seen: Set<string>

  constructor(file: ClassFile, pool: Pool, facts: FactsBuilder, name: string) {
    this.file = file
    this.pool = pool
    this.facts = facts
    this.#seen = new Set([name])
    const holders = file.attributes.filter((attribute) => this.nameOf(attribute) === 'BootstrapMethods')
    this.bootstrapMethods = holders.flatMap((holder) => holder.bootstrap_methods)
  }

  nameOf(attribute: Attribute): string {
    return this.pool.utf8(attribute.attribute_name_index)
  }

  intern(text: string): number {
    return this.facts.intern(text)
  }

  /** Returns the id of a Utf8, or -1 for index 0, which means "none". */
  utf8OrNone(index: number): number {
    return index === 0 ? -1 : this.intern(this.pool.utf8(index))
  }

  classOrNone(index: number): number {
    return index === 0 ? -1 : this.intern(this.pool.className(index))
  }

  /** Records that the class refers to another, once each. */
  addReference(name: string): void {
    if (this.#seen.has(name)) return
    this.#seen.add(name)
    this.facts.add('references', { name: this.intern(name) })
  }

  addReferences(descriptor: Descriptor | undefined): void {
    for (const name of descriptor?.classes ?? []) this.addReference(name)
  }

  addReferencesOf(descriptor: string): void {
    this.addReferences(parseDescriptor(descriptor))
  }

  /** Returns the id of a Signature attribute's text, and records its classes. */
  signature(attribute: Attribute): number {
    const text = this.pool.utf8(attribute.signature_index)
    for (const name of classesOfSignature(text)) this.addReference(name)
    return this.intern(text)
  }
}
