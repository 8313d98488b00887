import type { FastifyRequest } from 'fastify'
import type { HttpServer } from '../../../lib/http/server.ts'
import { fault } from '../../errors.ts'
import type { Scan } from '../../index/scanner.ts'
import { annotationUsages } from '../../query/annotation-usages.ts'
import { callersOf } from '../../query/callers.ts'
import { callsOf } from '../../query/calls.ts'
import { listClasses } from '../../query/classes-list.ts'
import { showClass } from '../../query/class-show.ts'
import { dependencyCycles } from '../../query/cycles.ts'
import { dependenciesOf } from '../../query/dependencies.ts'
import { foundationClasses, graphView } from '../../query/graph.ts'
import { GRAPH_FORMATS, renderGraph } from '../../query/graph-formats.ts'
import { hierarchyOf } from '../../query/hierarchy.ts'
import { implementationsOf } from '../../query/implementations.ts'
import { searchMethods } from '../../query/methods-search.ts'
import { statsOf } from '../../query/stats.ts'
import { xrefOf } from '../../query/xref.ts'
import type { AnalyzerFace } from './face.ts'
import { QueryReader } from './query.ts'

/** The questions that are asked of a project's classes. */
export function queryRoutes(server: HttpServer, face: AnalyzerFace): void {
  /** A route whose answer comes from the index as it stands; its last path parameter is `name`. */
  const ask = (
    path: string,
    summary: string,
    parameters: readonly string[],
    answer: (scan: Scan, query: QueryReader, name: string) => unknown,
  ): void => {
    const querystring = {
      type: 'object',
      properties: Object.fromEntries(parameters.map((name) => [name, {}])),
    }
    server.app.get(`/api/v1${path}`, { schema: { summary, querystring } }, (request: FastifyRequest) => {
      face.idle.touch()
      const query = new QueryReader(request, parameters)
      return answer(face.analysis.scan, query, (request.params as { name?: string }).name ?? '')
    })
  }

  ask('/stats', 'How much there is', [], (scan) => ({ stats: statsOf(scan) }))

  const classFilter = [
    'package',
    'name',
    'annotation',
    'extends',
    'implements',
    'interfaces',
    'includeLibraries',
  ]
  ask('/classes', 'Classes that pass a filter', [...classFilter, 'page', 'size'], ({ snapshot }, query) => {
    const filter = {
      package: query.text('package'),
      name: query.text('name'),
      annotation: query.text('annotation'),
      extends: query.text('extends'),
      implements: query.text('implements'),
      interfacesOnly: query.flag('interfaces'),
      includeLibraries: query.flag('includeLibraries'),
    }
    const { rows: classes, ...page } = listClasses(snapshot, filter, query.paging())
    const appliedFilter = {
      packagePattern: filter.package ?? null,
      namePattern: filter.name ?? null,
      source: filter.includeLibraries ? null : 'PROJECT',
      hasAnnotation: filter.annotation ?? null,
      extendsClass: filter.extends ?? null,
      implementsInterface: filter.implements ?? null,
    }
    return { classes, ...page, appliedFilter }
  })

  ask('/classes/:name', 'One class with its members', [], ({ snapshot }, _query, name) => ({
    classInfo: showClass(snapshot, name),
  }))
  ask(
    '/implementations/:name',
    'What extends or implements a type',
    ['includeLibraries'],
    ({ snapshot }, query, name) => implementationsOf(snapshot, name, query.flag('includeLibraries')),
  )
  ask('/hierarchy/:name', 'What is above and below a type', [], ({ snapshot }, _query, name) =>
    hierarchyOf(snapshot, name),
  )
  ask(
    '/dependencies/:name',
    'What a class needs and what needs it',
    ['includeLibraries'],
    ({ snapshot }, query, name) => dependenciesOf(snapshot, name, query.flag('includeLibraries')),
  )

  ask(
    '/annotations/usages/:name',
    'Where an annotation stands, or one that carries it',
    ['scope', 'includeLibraries', 'page', 'size'],
    ({ snapshot }, query, name) => {
      const filter = { scope: query.text('scope'), includeLibraries: query.flag('includeLibraries') }
      return annotationUsages(snapshot, name, filter, query.paging())
    },
  )

  const methodFilter = ['name', 'returnType', 'annotation', 'inClass', 'inPackage', 'includeLibraries']
  ask('/methods', 'Methods that pass a filter', [...methodFilter, 'page', 'size'], ({ snapshot }, query) =>
    searchMethods(
      snapshot,
      {
        name: query.text('name'),
        returnType: query.text('returnType'),
        annotation: query.text('annotation'),
        class: query.text('inClass'),
        package: query.text('inPackage'),
        includeLibraries: query.flag('includeLibraries'),
      },
      query.paging(),
    ),
  )

  ask(
    '/calls/:name',
    'The call sites of a class, method by method',
    ['method', 'descriptor', 'inMethodsReturning', 'inMethodsAnnotated', 'includeLambdas'],
    ({ snapshot }, query, name) =>
      callsOf(snapshot, name, {
        method: query.text('method'),
        descriptor: query.text('descriptor'),
        inMethodsReturning: query.text('inMethodsReturning'),
        inMethodsAnnotated: query.text('inMethodsAnnotated'),
        includeLambdas: query.flag('includeLambdas'),
      }),
  )

  ask(
    '/callers/:name',
    'Who calls a method, named owner#method',
    ['descriptor', 'includeLibraries', 'includeSubtypes', 'page', 'size'],
    ({ snapshot }, query, name) => {
      const filter = {
        descriptor: query.text('descriptor'),
        includeLibraries: query.flag('includeLibraries'),
        includeSubtypes: query.flag('includeSubtypes'),
      }
      return callersOf(snapshot, name, filter, query.paging())
    },
  )

  ask(
    '/xref/:name',
    'Where a type is referred to',
    ['includeLibraries', 'kind', 'scopeImplementing', 'page', 'size'],
    ({ snapshot }, query, name) => {
      const filter = {
        kind: query.text('kind'),
        scopeImplementing: query.text('scopeImplementing'),
        includeLibraries: query.flag('includeLibraries'),
      }
      return xrefOf(snapshot, name, filter, query.paging())
    },
  )

  ask('/graph', 'What the project’s classes need of each other', ['format'], ({ snapshot }, query) => {
    const format = query.word('format', GRAPH_FORMATS) ?? 'json'
    return format === 'json'
      ? graphView(snapshot)
      : { format, content: renderGraph(graphView(snapshot), format) }
  })
  ask('/graph/foundation', 'The classes that most others need', ['minDependents'], ({ snapshot }, query) => {
    const least = query.number('minDependents') ?? 2
    if (least < 1) throw fault('BAD_REQUEST', 'minDependents must be at least 1')
    return foundationClasses(snapshot, least)
  })
  ask('/graph/cycles', 'Classes or packages that all need each other', ['of'], ({ snapshot }, query) =>
    dependencyCycles(snapshot, query.word('of', ['class', 'package']) ?? 'class'),
  )
}
