import { methodName, printedMembers, printedSections } from './javap.ts'

interface PrintedClass {
  readonly name: string
  readonly isInterface: boolean
  readonly isAbstract: boolean
  readonly superclass: string | undefined
  readonly interfaces: readonly string[]
  /** By "name descriptor". */
  readonly methods: ReadonlyMap<string, PrintedMethod>
  readonly annotations: PrintedAnnotations
}

/** Names in the annotations of a class and its members that exist at run time, and in the defaults of an annotation type. */
interface PrintedAnnotations {
  /** Annotation types, and enums of constants. */
  readonly initialized: readonly string[]
  readonly literals: readonly string[]
  readonly texts: readonly string[]
}

interface PrintedMethod {
  readonly isAbstract: boolean
  readonly isStatic: boolean
  /** Static or private: never overridden. */
  readonly isExact: boolean
  readonly isFinal: boolean
  /** Made by a compiler. */
  readonly isSynthetic: boolean
  readonly calls: readonly PrintedCall[]
  /** Classes that it creates objects of. */
  readonly created: readonly string[]
  readonly literals: readonly string[]
  /** Classes with static fields that it uses. */
  readonly initialized: readonly string[]
}

interface PrintedCall {
  readonly owner: string
  /** "name descriptor". */
  readonly signature: string
  readonly isDispatched: boolean
}

/**
 * Call graph of class hierarchy analysis from the output of `javap`, written independently of the analyzer.
 * Methods are "owner#name descriptor" with internal names.
 */
export class PrintedGraph {
  /** Classes of the folder, and the supertypes of the JDK that they need. */
  readonly classes = new Map<string, PrintedClass>()
  /** Names of the folder's classes. */
  readonly own: readonly string[]
  readonly #supertypes = new Map<string, ReadonlySet<string>>()
  readonly #callees = new Map<string, ReadonlySet<string>>()

  constructor(files: readonly string[]) {
    this.own = this.#print(files)
    for (let missing = this.#missing(); missing.length > 0; missing = this.#missing())
      this.#print(missing.map((name) => name.replaceAll('/', '.')))
  }

  /** Returns the methods that a class declares. */
  methodsOf(owner: string): readonly string[] {
    return [...(this.classes.get(owner)?.methods.keys() ?? [])].map((signature) => `${owner}#${signature}`)
  }

  /** Returns what `owner#name` means: the methods that it resolves to, in all overloads. */
  named(owner: string, name: string): ReadonlySet<string> {
    const signatures = [owner, ...this.above(owner)].flatMap((type) => [
      ...(this.classes.get(type)?.methods.keys() ?? []),
    ])
    const all = signatures.filter((signature) => signature.split(' ')[0] === name)
    return new Set(all.flatMap((signature) => this.resolve(owner, signature) ?? []))
  }

  /** Returns the methods that a method may call. */
  callees(method: string): ReadonlySet<string> {
    let found = this.#callees.get(method)
    if (found === undefined) {
      const [owner = '', signature = ''] = method.split('#')
      const calls = this.own.includes(owner)
        ? (this.classes.get(owner)?.methods.get(signature)?.calls ?? [])
        : []
      found = new Set(calls.flatMap((call) => this.#reached(call)))
      this.#callees.set(method, found)
    }
    return found
  }

  /** Whether a person wrote a method. */
  isWritten(method: string): boolean {
    const [owner = '', signature = ''] = method.split('#')
    return this.classes.get(owner)?.methods.get(signature)?.isSynthetic !== true
  }

  /** Returns the written methods that a method may call, directly or by those that a compiler made. */
  writtenCallees(method: string): ReadonlySet<string> {
    const found = new Set<string>()
    const seen = new Set([method])
    for (const each of seen)
      for (const callee of this.callees(each)) {
        if (this.isWritten(callee)) found.add(callee)
        else seen.add(callee)
      }
    return found
  }

  resolve(owner: string, signature: string): string | undefined {
    const chain = [owner]
    for (
      let type = this.classes.get(owner)?.superclass;
      type !== undefined;
      type = this.classes.get(type)?.superclass
    )
      chain.push(type)
    const declaring = (types: readonly string[]): readonly string[] =>
      types.filter((type) => this.classes.get(type)?.methods.has(signature))
    const [inClasses] = declaring(signature.startsWith('<init>') ? [owner] : chain)
    if (inClasses !== undefined || signature.startsWith('<init>'))
      return inClasses === undefined ? undefined : `${inClasses}#${signature}`
    const candidates = declaring([...this.above(owner)].filter((type) => this.classes.get(type)?.isInterface))
    const specific = candidates.filter((type) => !candidates.some((other) => this.above(other).has(type)))
    const withCode = specific.find(
      (type) => this.classes.get(type)?.methods.get(signature)?.isAbstract === false,
    )
    const found = withCode ?? specific[0]
    return found === undefined ? undefined : `${found}#${signature}`
  }

  #reached({ owner, signature, isDispatched }: PrintedCall): readonly string[] {
    const resolved = this.resolve(owner, signature)
    const [declaring = ''] = (resolved ?? '').split('#')
    const isExact = this.classes.get(declaring)?.methods.get(signature)?.isExact ?? false
    const below =
      isDispatched && !isExact ? [...this.classes.keys()].filter((type) => this.above(type).has(owner)) : []
    return [resolved, ...below.map((type) => this.resolve(type, signature))].filter(
      (each) => each !== undefined,
    )
  }

  /** Returns the supertypes of a class at any depth. */
  above(owner: string): ReadonlySet<string> {
    const cached = this.#supertypes.get(owner)
    if (cached !== undefined) return cached
    const found = new Set<string>()
    const add = (type: string): void => {
      const { superclass, interfaces = [] } = this.classes.get(type) ?? {}
      for (const each of [superclass, ...interfaces])
        if (each !== undefined && !found.has(each)) {
          found.add(each)
          add(each)
        }
    }
    add(owner)
    this.#supertypes.set(owner, found)
    return found
  }

  #missing(): readonly string[] {
    const all = [...this.classes.values()].flatMap(({ superclass, interfaces }) => [
      superclass,
      ...interfaces,
    ])
    return [...new Set(all)].filter((name) => name !== undefined && !this.classes.has(name)) as string[]
  }

  #print(names: readonly string[]): readonly string[] {
    const found = printedSections(names).map(printedClass)
    for (const each of found) this.classes.set(each.name, each)
    return found.map(({ name }) => name)
  }
}

function printedClass(section: string): PrintedClass {
  const named = (key: string) =>
    new RegExp(`^ {2}${key}: #\\d+ +// (.*)$`, 'm').exec(section)?.[1]?.replaceAll('"', '')
  const name = named('this_class') ?? ''
  const head = section.split(/^Constant pool:$/m)[0] ?? ''
  const flags = /^ {2}flags: \(0x[\da-f]+\) (.*)$/m.exec(head)?.[1] ?? ''
  const clause = flags.includes('ACC_INTERFACE') ? 'extends' : 'implements'
  const declaration = withoutTypeArguments(/^(?:\w+ )*(?:class|interface) .*$/m.exec(head)?.[0] ?? '')
  const listed = new RegExp(` ${clause} (.*)$`).exec(declaration)?.[1] ?? ''
  const handles = handlesOf(section)
  const methods = new Map<string, PrintedMethod>()
  for (const member of printedMembers(section)) {
    const descriptor = /^ {4}descriptor: (\(.*)$/m.exec(member)?.[1]
    if (descriptor === undefined) continue
    const own = /^ {4}flags: \(0x[\da-f]+\) ?(.*)$/m.exec(member)?.[1] ?? ''
    methods.set(`${methodName(member, name)} ${descriptor}`, {
      isAbstract: own.includes('ACC_ABSTRACT'),
      isStatic: own.includes('ACC_STATIC'),
      isExact: /ACC_(?:STATIC|PRIVATE)/.test(own),
      isFinal: own.includes('ACC_FINAL'),
      isSynthetic: own.includes('ACC_SYNTHETIC'),
      calls: callsOf(member, name, handles),
      created: createdIn(member, handles),
      literals: namesAfter(member, 'ldc|ldc_w'),
      initialized: Array.from(
        member.matchAll(/^ +\d+: (?:get|put)static +#\d+ +\/\/ Field (\S+)$/gm),
        ([, field = '']) => ownerOfField(field, name),
      ),
    })
  }
  return {
    name,
    isInterface: flags.includes('ACC_INTERFACE'),
    isAbstract: flags.includes('ACC_ABSTRACT'),
    superclass: named('super_class'),
    interfaces: listed
      .split(/, ?/)
      .map((each) => each.trim().replaceAll('.', '/'))
      .filter((each) => each !== ''),
    methods,
    annotations: annotationsIn(section),
  }
}

const ANNOTATIONS =
  /^( *)(?:RuntimeVisible(?:Parameter|Type)?Annotations|AnnotationDefault):\n((?:\1 +.*\n|\n)*)/gm

function annotationsIn(section: string): PrintedAnnotations {
  const text = Array.from(section.matchAll(ANNOTATIONS), ([, , body = '']) => body).join('\n')
  const all = (pattern: RegExp) => Array.from(text.matchAll(pattern), ([, name = '']) => name)
  const types = [...all(/^ +([A-Za-z_$][\w.$]*)\(?$/gm), ...all(/@([\w.$]+)\(/g)]
  return {
    initialized: [...types.map((name) => name.replaceAll('.', '/')), ...all(/\bL([\w/$]+);\./g)],
    literals: all(/\bclass L([\w/$]+);/g),
    texts: all(/"((?:[^"\\]|\\.)*)"/g),
  }
}

interface PrintedHandle {
  readonly kind: string
  readonly target: string
}

/** Returns what each bootstrap method of a LambdaMetafactory refers to. */
function handlesOf(section: string): readonly (PrintedHandle | undefined)[] {
  const [, after = ''] = section.split(/^BootstrapMethods:$/m)
  const entries = after.split(/^ {2}\d+: /m).slice(1)
  return entries.map((entry) => {
    if (!/^#\d+ REF_\w+ java\/lang\/invoke\/LambdaMetafactory\./.test(entry)) return undefined
    const [, kind, target] = /^ {6}#\d+ REF_(\w+) (.*)$/m.exec(entry) ?? []
    return kind === undefined || target === undefined ? undefined : { kind, target }
  })
}

function withoutTypeArguments(declaration: string): string {
  const without = declaration.replaceAll(/<[^<>]*>/g, '')
  return without === declaration ? without : withoutTypeArguments(without)
}

function callsOf(
  member: string,
  owner: string,
  handles: readonly (PrintedHandle | undefined)[],
): readonly PrintedCall[] {
  const found: PrintedCall[] = []
  const add = (target: string, isDispatched: boolean): void => {
    const plain = target.replaceAll('"', '')
    const full = (plain.split(':(')[0] ?? '').includes('.') ? plain : `${owner}.${plain}`
    const [, on = '', name = '', descriptor = ''] = /^(.*)\.([^.:]+):(\(.*)$/.exec(full) ?? []
    if (!on.startsWith('[')) found.push({ owner: on, signature: `${name} ${descriptor}`, isDispatched })
  }
  const call =
    /^ +\d+: (invoke\w+) +#\d+(?:, +\d+)? +\/\/ (?:(?:Interface)?Method (.*)|InvokeDynamic #(\d+):.*)$/gm
  for (const [, opcode, target, at] of member.matchAll(call)) {
    if (target !== undefined) add(target, opcode === 'invokevirtual' || opcode === 'invokeinterface')
    const handle = at === undefined ? undefined : handles[Number(at)]
    if (handle !== undefined) add(handle.target, ['invokeVirtual', 'invokeInterface'].includes(handle.kind))
  }
  return found
}

/** Classes of `new`, class literals and references to constructors. */
function createdIn(member: string, handles: readonly (PrintedHandle | undefined)[]): readonly string[] {
  const references = Array.from(member.matchAll(/InvokeDynamic #(\d+):/g), ([, at]) => handles[Number(at)])
  return [
    ...namesAfter(member, 'new'),
    ...references.flatMap((handle) =>
      handle?.kind === 'newInvokeSpecial' ? [handle.target.split('."<init>"')[0] ?? ''] : [],
    ),
  ]
}

/** Returns the classes in instructions. */
function namesAfter(member: string, instructions: string): readonly string[] {
  const found = member.matchAll(new RegExp(`^ +\\d+: (?:${instructions}) +#\\d+ +// class (\\S+)$`, 'gm'))
  return Array.from(found, ([, name = '']) => name.replaceAll('"', ''))
}

/** javap omits the class name of fields of the same class. */
function ownerOfField(field: string, owner: string): string {
  const [before = ''] = field.split(':')
  return before.includes('.') ? before.slice(0, before.lastIndexOf('.')).replaceAll('"', '') : owner
}
