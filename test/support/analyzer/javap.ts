import { execFileSync } from 'node:child_process'

/** Parsed output of `javap -v -p`, as far as our facts contain the same. */
export interface PrintedClass {
  readonly name: string
  /** "name descriptor" in order. */
  readonly fields: string[]
  /** "name descriptor": its calls, each as "invokevirtual java/lang/String.length:()I @12", in order. */
  readonly methods: Map<string, string[]>
  /** Types of all annotations outside others, in order of appearance: "java.lang.Deprecated". */
  readonly annotations: string[]
}

/** @param where options that locate the classes */
export function javap(where: readonly string[], names: readonly string[]): ReadonlyMap<string, PrintedClass> {
  const classes = printedSections([...where, ...names]).map(printedClass)
  return new Map(classes.map((each) => [each.name, each]))
}

/** Runs `javap -v -p`. Returns its output class by class. */
export function printedSections(argv: readonly string[]): readonly string[] {
  const text = execFileSync('javap', ['-v', '-p', ...argv], {
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  return text.split(/^Classfile .*$/m).slice(1)
}

/** Returns the fields and methods in the output of a class. */
export function printedMembers(section: string): readonly string[] {
  const [, body = ''] = section.slice(0, section.lastIndexOf('\n}') + 1).split(/^\{$/m)
  return body.split(/\n\n|\n(?= {2}\S)/)
}

function printedClass(section: string): PrintedClass {
  const name = /^ {2}this_class: #\d+ +\/\/ (.*)$/m.exec(section)?.[1]?.replaceAll('"', '') ?? ''
  const fields: string[] = []
  const methods = new Map<string, string[]>()
  for (const member of printedMembers(section)) {
    const descriptor = /^ {4}descriptor: (.*)$/m.exec(member)?.[1]
    if (descriptor === undefined) continue
    if (descriptor.startsWith('('))
      methods.set(`${methodName(member, name)} ${descriptor}`, callsOf(member, name))
    else fields.push(`${/(\S+);$/m.exec(member)?.[1]} ${descriptor}`)
  }
  return { name, fields, methods, annotations: annotationsOf(section) }
}

/** Returns the name of a printed method in the class file; `owner` is the internal name of its class. */
export function methodName(member: string, owner: string): string {
  const [declaration = ''] = member.trimStart().split('\n')
  if (declaration.endsWith('static {};')) return '<clinit>'
  const name = /([^\s(]+)\(/.exec(declaration)?.[1] ?? ''
  return name === owner.replaceAll('/', '.') ? '<init>' : name
}

function callsOf(member: string, owner: string): string[] {
  const lines = [...member.matchAll(/^ +line (\d+): (\d+)$/gm)].map(([, line, pc]) => ({
    line: Number(line),
    pc: Number(pc),
  }))
  const sorted = lines.toSorted((a, b) => a.pc - b.pc)
  const call = /^ +(\d+): (invoke\w+) +#\d+(?:, +\d+)? +\/\/ (?:Interface)?Method (.*)$/gm
  return [...member.matchAll(call)].map(([, pc, opcode, target = '']) => {
    const plain = target.replaceAll('"', '')
    const [beforeDescriptor = ''] = plain.split(':(')
    // javap omits the class name of methods of the same class.
    const full = beforeDescriptor.includes('.') ? plain : `${owner}.${plain}`
    const line = sorted.findLast((each) => each.pc <= Number(pc))?.line ?? -1
    return `${opcode} ${full} @${line}`
  })
}

/** "0: #5(#6=s#7)", then the same as text; those on types have their position after the bracket. */
function annotationsOf(section: string): string[] {
  return [...section.matchAll(/^ +\d+: #\d+\(.*\)(?:: .*)?\n +([^\s(]+)/gm)].map(([, type = '']) => type)
}
