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
  const text = execFileSync('javap', ['-v', '-p', ...where, ...names], {
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const classes = text
    .split(/^Classfile .*$/m)
    .slice(1)
    .map((section) => printedClass(section))
  return new Map(classes.map((each) => [each.name, each]))
}

function printedClass(section: string): PrintedClass {
  const name = /^ {2}this_class: #\d+ +\/\/ (.*)$/m.exec(section)?.[1]?.replaceAll('"', '') ?? ''
  const end = section.lastIndexOf('\n}')
  const [, body = ''] = section.slice(0, end + 1).split(/^\{$/m)
  const fields: string[] = []
  const methods = new Map<string, string[]>()
  for (const member of body.split(/\n\n|\n(?= {2}\S)/)) {
    const descriptor = /^ {4}descriptor: (.*)$/m.exec(member)?.[1]
    if (descriptor === undefined) continue
    if (descriptor.startsWith('('))
      methods.set(`${methodName(member, name)} ${descriptor}`, callsOf(member, name))
    else fields.push(`${/(\S+);$/m.exec(member)?.[1]} ${descriptor}`)
  }
  return { name, fields, methods, annotations: annotationsOf(section) }
}

function methodName(member: string, owner: string): string {
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
