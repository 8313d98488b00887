import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../../support/analyzer/analyzer-server.ts'
import { lineFinder } from '../../../support/analyzer/fixture-line.ts'

let analyzer: TestAnalyzer
beforeAll(async () => {
  analyzer = await startAnalyzer(projectOf('shop'))
})
afterAll(() => analyzer.stop())

const line = lineFinder('shop/shop/service/Calls.java')
const SELF = 'shop.service.Calls'
const calls = (parameters = {}) => analyzer.get(`/calls/${SELF}`, parameters)
const named = ({ methods }: any): readonly string[] =>
  methods.map(({ methodName, descriptor }: any) => methodName + descriptor)
const callees = (method: any): readonly string[] =>
  method.calls.map(({ ownerType, methodName }: any) => `${ownerType}.${methodName}`)

describe('calls', () => {
  test('are listed by method, without methods that have none', async () => {
    const answer = await calls()
    expect(answer.fqn).toBe(SELF)
    expect(named(answer)).toEqual([
      '<init>(Lshop/model/Order;)V',
      'constants(Ljava/lang/String;)V',
      'overloaded(Lshop/model/Item;)I',
      'overloaded(Lshop/model/Priced;)I',
      'overloaded(Lshop/model/Priced;[I)Lshop/model/Priced;',
      'lambdas(Ljava/util/List;)Ljava/util/function/Supplier;',
      'first()Ljava/util/Optional;',
    ])
    expect(answer.totalCalls).toBe(24)
    expect(answer.methods[0].calls).toEqual([
      {
        ownerType: 'java.lang.Object',
        methodName: '<init>',
        descriptor: '()V',
        isInterface: false,
        constantArgs: [],
        lineNumber: expect.any(Number),
      },
    ])
  })

  test('have their constant arguments in order, of every kind', async () => {
    const { methods } = await calls({ method: 'constants' })
    const sites = methods[0].calls.map(({ methodName, lineNumber, constantArgs }: any) => ({
      methodName,
      lineNumber,
      constantArgs: constantArgs.map(({ index, kind, value }: any) => [index, kind, value]),
    }))
    expect(sites).toEqual([
      {
        methodName: 'take',
        lineNumber: line('take'),
        constantArgs: [
          [0, 'STRING', 'text'],
          [1, 'INT', -1],
          // More than a number of JSON's readers holds.
          [2, 'LONG', '1152921504606846976'],
          [3, 'FLOAT', 0.1],
          [4, 'DOUBLE', -2.5],
          [5, 'CLASS', 'shop.model.Item'],
        ],
      },
      {
        methodName: 'take',
        lineNumber: line('take again'),
        constantArgs: [
          [1, 'INT', 100_000],
          [2, 'LONG', 42],
          [3, 'FLOAT', 'NaN'],
          [4, 'DOUBLE', '-Infinity'],
          [5, 'CLASS', 'int[]'],
        ],
      },
      {
        methodName: 'flags',
        lineNumber: line('flags'),
        constantArgs: [
          [0, 'INT', 1],
          [1, 'INT', 120],
          [2, 'INT', 3],
          [3, 'INT', 400],
        ],
      },
      { methodName: 'vary', lineNumber: line('flags') + 1, constantArgs: [] },
    ])
  })

  test('of a method include all overloads, or only the one with the descriptor', async () => {
    const all = await calls({ method: 'overloaded' })
    expect(all.methods.flatMap(({ calls: sites }: any) => sites)).toEqual([
      {
        ownerType: 'shop.model.Item',
        methodName: 'price',
        descriptor: '()I',
        isInterface: false,
        constantArgs: [],
        lineNumber: line('by record'),
      },
      {
        ownerType: 'shop.model.Priced',
        methodName: 'price',
        descriptor: '()I',
        isInterface: true,
        constantArgs: [],
        lineNumber: line('by interface'),
      },
      {
        ownerType: 'int[]',
        methodName: 'clone',
        descriptor: '()Ljava/lang/Object;',
        isInterface: false,
        constantArgs: [],
        lineNumber: line('array'),
      },
    ])
    const one = await calls({ method: 'overloaded', descriptor: '(Lshop/model/Priced;)I' })
    expect(named(one)).toEqual(['overloaded(Lshop/model/Priced;)I'])
    expect(one.totalCalls).toBe(1)
  })

  test('of a method without calls is one empty entry, of an unknown method none', async () => {
    expect(await calls({ method: 'nothing' })).toMatchObject({
      methods: [{ methodName: 'nothing', descriptor: '()V', calls: [] }],
      totalCalls: 0,
    })
    expect(await calls({ method: 'unknown' })).toMatchObject({ methods: [], totalCalls: 0 })
    expect((await calls({ method: 'overloaded', descriptor: '()V' })).methods).toEqual([])
  })

  test.each([
    [{ inMethodsReturning: 'int' }, ['overloaded(Lshop/model/Item;)I', 'overloaded(Lshop/model/Priced;)I']],
    [{ inMethodsReturning: 'java.util.Optional' }, ['first()Ljava/util/Optional;']],
    [{ inMethodsAnnotated: 'shop.route.Get' }, ['overloaded(Lshop/model/Item;)I']],
    [
      { inMethodsAnnotated: 'shop.route.Route' },
      ['overloaded(Lshop/model/Item;)I', 'lambdas(Ljava/util/List;)Ljava/util/function/Supplier;'],
    ],
    [
      { inMethodsAnnotated: 'shop.route.Route', inMethodsReturning: 'int' },
      ['overloaded(Lshop/model/Item;)I'],
    ],
    [
      { inMethodsAnnotated: 'shop.route.Route', method: 'lambdas' },
      ['lambdas(Ljava/util/List;)Ljava/util/function/Supplier;'],
    ],
    [{ inMethodsAnnotated: 'shop.route.Route', method: 'nothing' }, []],
    // Only the body of a lambda returns one.
    [{ inMethodsReturning: 'java.lang.Integer' }, []],
    [
      { inMethodsReturning: 'java.lang.Integer', synthetic: true },
      ['lambda$lambdas$3(Ljava/util/function/Function;Ljava/util/List;)Ljava/lang/Integer;'],
    ],
    [{ inMethodsAnnotated: 'no.Such' }, []],
  ])('in methods that pass %j are those of %j', async (parameters, expected) => {
    expect(named(await calls(parameters))).toEqual(expected)
  })

  test('of a matching method exclude its lambdas', async () => {
    const { methods } = await calls({ inMethodsAnnotated: 'shop.route.Route', method: 'lambdas' })
    expect(callees(methods[0])).toEqual([
      'java.util.List.forEach',
      'java.util.Objects.requireNonNull',
      'java.lang.Runnable.run',
    ])
  })

  test('with lambdas include their bodies and method references', async () => {
    const { methods } = await calls({ method: 'lambdas', includeLambdas: true })
    const via = (word: string | undefined) =>
      callees({ calls: methods[0].calls.filter((call: any) => call.via === word) })
    expect(via(undefined)).toEqual([
      'java.util.List.forEach',
      'java.util.Objects.requireNonNull',
      'java.lang.Runnable.run',
    ])
    expect(via('methodRef')).toEqual(['shop.model.Item.name', 'shop.model.Order.all'])
    expect(via('lambda')).toEqual([
      'shop.service.Calls.overloaded',
      'java.util.List.size',
      'shop.model.Order.<init>',
      'java.util.function.Supplier.get',
      'java.util.List.get',
      'java.util.function.Function.apply',
      'java.lang.String.length',
      'java.lang.Integer.valueOf',
    ])
    expect(named(await calls({ includeLambdas: true }))).not.toContain('lambda$lambdas$0(Lshop/model/Item;)V')
  })
})

describe('callers', () => {
  test('of a method are listed with the calling source method and the kind of call', async () => {
    const { callers, totalCount } = await analyzer.get('/callers/shop.service.Calls%23overloaded')
    expect(totalCount).toBe(1)
    expect(callers).toEqual([
      {
        classFqn: SELF,
        classSimpleName: 'Calls',
        classSource: 'PROJECT',
        methodName: 'lambdas',
        methodDescriptor: '(Ljava/util/List;)Ljava/util/function/Supplier;',
        ownerType: SELF,
        descriptor: '(Lshop/model/Item;)I',
        lineNumber: line('lambda'),
        via: 'lambda',
      },
    ])
    const all = await analyzer.get('/callers/shop.model.Order%23all')
    expect(all.callers.map(({ methodName, via }: any) => `${methodName} ${via}`)).toEqual([
      'lambdas methodRef',
      'first call',
    ])
    const price = await analyzer.get('/callers/shop.model.Priced%23price', { includeSubtypes: true })
    expect(price.callers.map(({ ownerType }: any) => ownerType)).toEqual([
      'shop.model.Priced',
      'shop.model.Item',
      'shop.model.Priced',
    ])
  })

  test('are never a silent zero: calls through subtypes and supertypes are counted too', async () => {
    const of = async (member: string, parameters = {}) => {
      const { totalCount, subtypeCallCount, supertypeCallCount } = await analyzer.get(
        `/callers/${encodeURIComponent(member)}`,
        parameters,
      )
      return [totalCount, subtypeCallCount, supertypeCallCount]
    }
    expect(await of('shop.model.Priced#price')).toEqual([2, 1, 0])
    expect(await of('shop.model.Priced#price', { includeSubtypes: true })).toEqual([3, 1, 0])
    expect(await of('shop.model.Discounted#price')).toEqual([0, 1, 2])
    expect(await of('shop.model.Item#price', { descriptor: '()I' })).toEqual([1, 0, 2])
    // A declared method without calls is reported with zeros.
    expect(await of('shop.service.Calls#nothing')).toEqual([0, 0, 0])
  })

  test.each([
    ['shop.model.Order#noSuchMethod', {}, /^neither shop\.model\.Order nor a supertype declares/],
    ['shop.model.Order#items', {}, /^shop\.model\.Order#items is a field, not a method$/],
    ['shop.model.Order#id', {}, /^shop\.model\.Order#id is a field/],
    [
      'shop.model.Order#all',
      { descriptor: '(I)V' },
      /has no overload \(I\)V; it has \(\)Ljava\/util\/List;$/,
    ],
    ['java.lang.String#lenght', {}, /did you mean java\.lang\.String#length\?$/],
    ['shop.model.Order#a#b', {}, /declares a method "a#b"/],
  ])('of %s with %j are METHOD_NOT_FOUND', async (member, parameters, message) => {
    const { status, body } = await analyzer.ask(`/callers/${encodeURIComponent(member)}`, parameters)
    expect([status, body.message]).toEqual([404, expect.stringMatching(message)])
  })
})
