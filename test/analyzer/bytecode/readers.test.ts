import { beforeAll, describe, expect, it } from 'vitest'
import { TRAIT } from '../../../src/analyzer/bytecode/columns.ts'
import type { ClassDiagnostic, Facts } from '../../../src/analyzer/bytecode/facts.ts'
import { oracleReader } from '../../oracle/class-reader/oracle-reader.ts'
import { nativeReader } from '../../support/analyzer/class-readers.ts'
import { ClassView } from '../../support/analyzer/class-view.ts'
import { classFilesBelow, compiled } from '../../support/analyzer/javac.ts'

describe.each([nativeReader, oracleReader])('the $is reader', (reader) => {
  let facts: Facts
  let diagnostics: readonly ClassDiagnostic[]
  const view = (name: string) => new ClassView(facts, name)

  beforeAll(async () => {
    const slice = await reader.readSlice([...classFilesBelow(compiled('demo')).values()])
    facts = slice.facts
    diagnostics = slice.diagnostics
  })

  it('reports no diagnostics for output of javac', () => {
    expect(diagnostics).toEqual([])
  })

  it('reads constant arguments of every kind', () => {
    expect(view('demo/Calls').ownCalls('constants')).toEqual([
      'take(0:INT -1, 1:LONG 5000000000, 2:FLOAT 1.5, 3:DOUBLE -2.25, 4:STRING text \0 😀, 5:CLASS demo/Calls, 6:INT 1, 7:INT 120)',
      'take(0:INT 100000, 1:LONG 1, 2:FLOAT 2, 3:DOUBLE 0, 4:STRING inlined, 5:CLASS [I, 6:INT 0, 7:INT 65535)',
      'one()',
      'one()',
    ])
  })

  it('follows constants through local variables until they change', () => {
    expect(view('demo/Calls').ownCalls('locals')).toEqual([
      'number(0:INT 7)',
      'wide(0:LONG 8, 2:DOUBLE 9)',
      'number()',
      'number()',
    ])
  })

  it('forgets all values at a jump target', () => {
    expect(view('demo/Calls').ownCalls('loop')).toEqual(['number(0:INT 0)', 'number()', 'number(0:INT 4)'])
    expect(view('demo/Calls').ownCalls('branches')).toEqual([
      'one()',
      'one(0:STRING kept)',
      'one()',
      'number(0:INT 11)',
      'number(0:INT 12)',
      'number(0:INT 13)',
      'number(0:INT 14)',
    ])
  })

  it('reads references to types with their instructions, and caught classes', () => {
    const { typeReferences, methods } = facts
    const calls = view('demo/Calls')
    const rows = calls.rows(methods.firstTypeReference, calls.method('references'))
    expect(
      rows.map((row) => `${typeReferences.opcode[row]} ${calls.text(typeReferences.name[row])}`),
    ).toEqual([
      '193 java/util/List',
      '192 java/util/List',
      '187 java/util/ArrayList',
      '197 [[Ljava/lang/String;',
      '0 java/lang/ClassCastException',
      '0 java/lang/IllegalStateException',
    ])
  })

  it('reads the types in arguments of bootstrap methods', async () => {
    const files = [...classFilesBelow(compiled('switches', ['--enable-preview', '--release', '17'])).values()]
    const slice = await reader.readSlice(files)
    expect(slice.diagnostics).toEqual([])
    const { typeReferences, methods } = slice.facts
    const switches = new ClassView(slice.facts, 'switches/Switches')
    const typesIn = (method: string) =>
      switches
        .rows(methods.firstTypeReference, switches.method(method))
        .map((row) => `${typeReferences.opcode[row]} ${switches.text(typeReferences.name[row])}`)
    expect(typesIn('types')).toEqual(
      expect.arrayContaining(['193 switches/Switches$Disc', '193 switches/Switches$Box']),
    )
    expect(typesIn('marked')).toEqual(expect.arrayContaining(['192 switches/Switches$Marker']))
  })

  it('reads the methods that invokedynamic runs', () => {
    const { dynamicCalls, methods } = facts
    const calls = view('demo/Calls')
    const rows = calls.rows(methods.firstDynamicCall, calls.method('dynamic'))
    const text = (column: Int32Array, row: number) => calls.text(column[row])
    expect(
      rows.map((row) => [
        text(dynamicCalls.bootstrapName, row),
        dynamicCalls.handleKind[row],
        `${text(dynamicCalls.handleOwner, row)}.${text(dynamicCalls.handleName, row)}`,
      ]),
    ).toEqual([
      ['metafactory', 6, 'demo/Calls.lambda$dynamic$0'],
      ['metafactory', 5, 'java/lang/String.length'],
      ['metafactory', 8, 'demo/Calls.<init>'],
      ['metafactory', 6, 'demo/Calls.lambda$dynamic$1'],
    ])
  })

  it('identifies an interface by the constant pool, and an array by its descriptor', () => {
    const { calls, methods } = facts
    const fluent = view('demo/Calls$Fluent')
    const rows = fluent.rows(methods.firstCall, fluent.method('then'))
    expect(rows.map((row) => [calls.opcode[row], calls.isInterface[row]])).toEqual([
      [184, 1],
      [185, 1],
    ])
    expect(view('demo/Calls').calls('arrays')).toEqual(['Runnable.run()', '[I.clone()'])
  })

  it('reads line numbers', () => {
    const { calls, methods } = facts
    const each = view('demo/Calls')
    const method = each.method('constants')
    expect(each.rows(methods.firstCall, method).map((row) => calls.line[row])).toEqual([22, 23, 24, 25])
    expect([methods.firstLine[method], methods.lastLine[method]]).toEqual([22, 26])
  })

  it('reads annotations with values of every kind and their targets', () => {
    const everything =
      'CLASS demo/Marked$Everything(flag=1, tiny=-1, letter=113, small=300, whole=70000, large=1099511627776, single=0.5, ' +
      'precise=1e+100, text=é, type=Ljava/lang/String;, kind=Ljava/lang/annotation/RetentionPolicy;CLASS, ' +
      'nested=@demo/Marked$Hidden(value=inner), list=[a, b], ' +
      'nestedList=[@demo/Marked$Hidden(value=x), @demo/Marked$Hidden(value=y)])'
    const marked = view('demo/Marked')
    const found = marked.annotations()
    expect(found).toContain(everything)
    expect(found).toContain('CLASS java/lang/Deprecated()')
    expect(found).toContain('FIELD demo/Marked$Hidden(value=field)')
    expect(found).toContain('METHOD demo/Marked$Hidden(value=constructor)')
    expect(found).toContain('PARAMETER 0 demo/Marked$Hidden(value=first)')
    expect(found.filter((text) => text.includes('Gone'))).toEqual([])
    expect(view('demo/Marked$Everything').annotations()).toContain('ANNOTATION_DEFAULT undefined([1, 2])')
  })

  it('reads constants of fields, throws, signatures and bridges', () => {
    const { fields, methods, exceptions, classes, strings } = facts
    const marked = view('demo/Marked')
    const constants = marked
      .rows(classes.firstField, marked.row)
      .map((row) =>
        marked.constant(
          fields.constantKind[row] ?? 0,
          fields.constant[row] ?? 0,
          fields.constantHigh[row] ?? 0,
        ),
      )
    expect(constants.slice(0, 2)).toEqual(['8589934592', 'title'])
    const thrown = marked.rows(methods.firstException, marked.method('<init>'))
    expect(thrown.map((row) => marked.text(exceptions.name[row]))).toEqual(['java/io/IOException'])
    expect(strings.get(classes.signature[marked.row] ?? -1)).toContain('Ljava/util/Map$Entry<TT;')
    const bridge = marked.method('compareTo', '(Ljava/lang/Object;)I')
    expect((methods.accessFlags[bridge] ?? 0) & 0x1040).toBe(0x1040)
    expect((classes.traits[marked.row] ?? 0) & TRAIT.DEPRECATED).toBe(TRAIT.DEPRECATED)
  })

  it('reads records, sealed types, nests, nested and local classes', () => {
    const { classes, permittedSubclasses, recordComponents, nestMembers } = facts
    const shapes = view('demo/Shapes')
    expect(shapes.names(classes.firstPermittedSubclass, permittedSubclasses.name)).toEqual([
      'demo/Shapes$Circle',
      'demo/Shapes$Square',
      'demo/Shapes$Odd',
    ])
    expect(shapes.names(classes.firstNestMember, nestMembers.name)).toContain('demo/Shapes$Odd$1')
    const circle = view('demo/Shapes$Circle')
    expect(circle.names(classes.firstRecordComponent, recordComponents.name)).toEqual(['radius', 'names'])
    expect(circle.annotations()).toContain('RECORD_COMPONENT demo/Marked$Hidden(value=radius)')
    expect((classes.traits[circle.row] ?? 0) & TRAIT.RECORD).toBe(TRAIT.RECORD)
    const corner = view('demo/Shapes$Square$Corner')
    expect(corner.text(classes.outerClass[corner.row])).toBe('demo/Shapes$Square')
    expect((classes.innerAccessFlags[corner.row] ?? 0) & 2).toBe(2)
    const local = view('demo/Shapes$Square$1Local')
    expect(local.text(classes.enclosingMethod[local.row])).toBe('local')
    expect(local.text(classes.innerName[local.row])).toBe('Local')
  })

  it('reads every class that a class mentions, once', () => {
    const { classes, references } = facts
    const marked = view('demo/Marked')
    const names = marked.names(classes.firstReference, references.name)
    expect(new Set(names).size).toBe(names.length)
    for (const name of [
      'java/util/Map$Entry',
      'java/lang/Integer',
      'java/io/IOException',
      'java/lang/Deprecated',
    ])
      expect(names).toContain(name)
    expect(names).not.toContain('demo/Marked')
  })

  it(
    'reads names of parameters from MethodParameters and from LocalVariableTable',
    { tags: ['long'] },
    async () => {
      for (const [option, trait] of [
        ['-parameters', 0],
        ['-g', TRAIT.DEBUG_NAMES],
      ] as const) {
        const slice = await reader.readSlice([...classFilesBelow(compiled('demo', [option])).values()])
        const calls = new ClassView(slice.facts, 'demo/Calls')
        const { methods, parameters } = slice.facts
        const wide = calls.method('wide')
        const rows = calls.rows(methods.firstParameter, wide)
        expect(rows.map((row) => calls.text(parameters.name[row]))).toEqual(['first', 'second', 'third'])
        expect((methods.traits[wide] ?? 0) & TRAIT.DEBUG_NAMES).toBe(trait)
      }
    },
  )
})
