import type { FastifyReply } from 'fastify'
import {
  ANALYSES,
  CYCLE_MEMBERS,
  DEPENDENCY_FINDINGS,
  DUPLICATES,
  GRAPH_FORMATS,
  REFERENCE_KINDS,
  USAGE_SCOPES,
} from '../../choices.ts'
import { runInTurns } from '../../../lib/clock/run-in-turns.ts'
import { abortOnClose } from '../../../lib/http/abort-on-close.ts'
import type { HttpServer } from '../../../lib/http/server.ts'
import { GRAPH_TYPES, type QueryName } from '../../api/queries.ts'
import type { Scan } from '../../scan/scan.ts'
import { annotationUsages } from '../../query/annotations/annotation-usages.ts'
import { callersOf } from '../../query/calls/callers.ts'
import { callsOf } from '../../query/calls/calls.ts'
import { listClasses } from '../../query/types/classes-list.ts'
import { showClass } from '../../query/types/class-show.ts'
import { dependencyCycles } from '../../query/graph/cycles.ts'
import { dependenciesOf } from '../../query/graph/dependencies.ts'
import { foundationClasses, graphView } from '../../query/graph/graph.ts'
import { renderGraph } from '../../query/graph/graph-formats.ts'
import { hierarchyOf } from '../../query/types/hierarchy.ts'
import { implementationsOf } from '../../query/types/implementations.ts'
import { searchMethods } from '../../query/types/methods-search.ts'
import { DEFAULT_DEPTH, DEFAULT_PATHS, pathOf } from '../../query/paths/path.ts'
import { deadOf } from '../../query/reach/dead.ts'
import { DEFAULT_ROOTS } from '../../query/reach/given-roots.ts'
import { reachOf } from '../../query/reach/reach.ts'
import { duplicatesOf, type HashClasses } from '../../query/duplicates/duplicates.ts'
import { inferRules } from '../../query/rules/infer.ts'
import type { DependencyAnswer } from '../../project/declared-dependencies.ts'
import { checkDependencies, type ListServices } from '../../query/declared/check-dependencies.ts'
import { statsOf } from '../../scan/stats.ts'
import { xrefOf } from '../../query/calls/xref.ts'
import type { RunSearch } from '../../query/search-queue.ts'
import type { AnalyzerFace } from './face.ts'
import type { QueryParameters } from './query-parameters.ts'
import { addQueryRoute } from './query-route.ts'
import type { SourceQuery } from './routes-source.ts'

/** Adds the routes for queries about classes. */
export function queryRoutes(server: HttpServer, face: AnalyzerFace): void {
  for (const [name, answer] of Object.entries(ANSWERS) as [keyof typeof ANSWERS, Answer][]) {
    addQueryRoute(server, face, name, (query, { name: subject = '' }, reply) =>
      answer(face.analysis.scan, query, subject, {
        reply,
        run: (search) => face.searches.run(search, abortOnClose(reply)),
        inTurns: (search) => runInTurns(search, { signal: abortOnClose(reply) }),
        hash: (classes) => face.analysis.hashClasses(classes),
        declared: (resolvedBy) => face.declared.get(resolvedBy),
        listServices: (paths) => face.analysis.listServices(paths),
      }),
    )
  }
}

interface Answering {
  readonly reply: FastifyReply
  readonly run: RunSearch
  /** Runs at once, for searches that are short for most questions. */
  readonly inTurns: RunSearch
  readonly hash: HashClasses
  readonly declared: (resolvedBy: string) => Promise<DependencyAnswer>
  readonly listServices: ListServices
}

type Answer = (scan: Scan, query: QueryParameters, name: string, answering: Answering) => unknown

const ANSWERS: Readonly<Record<Exclude<QueryName, SourceQuery>, Answer>> = {
  stats: (scan) => statsOf(scan),

  classes_list({ snapshot }, query) {
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
  },

  class_show: ({ snapshot }, query, name) => ({
    classInfo: showClass(snapshot, name, { synthetic: query.flag('synthetic') }),
  }),
  implementations: ({ snapshot }, query, name, { inTurns }) =>
    inTurns(implementationsOf(snapshot, name, query.flag('includeLibraries'))),
  hierarchy: ({ snapshot }, _query, name, { inTurns }) => inTurns(hierarchyOf(snapshot, name)),
  dependencies: ({ snapshot }, query, name) => dependenciesOf(snapshot, name, query.flag('includeLibraries')),

  annotation_usages({ snapshot }, query, name) {
    const filter = {
      scope: query.word('scope', USAGE_SCOPES),
      includeLibraries: query.flag('includeLibraries'),
      direct: query.flag('direct'),
    }
    return annotationUsages(snapshot, name, filter, query.paging())
  },

  methods_search({ snapshot }, query) {
    const filter = {
      name: query.text('name'),
      returnType: query.text('returnType'),
      annotation: query.text('annotation'),
      class: query.text('inClass'),
      package: query.text('inPackage'),
      includeLibraries: query.flag('includeLibraries'),
    }
    return searchMethods(snapshot, filter, query.paging())
  },

  calls: ({ snapshot }, query, name) =>
    callsOf(snapshot, name, {
      method: query.text('method'),
      descriptor: query.text('descriptor'),
      inMethodsReturning: query.text('inMethodsReturning'),
      inMethodsAnnotated: query.text('inMethodsAnnotated'),
      includeLambdas: query.flag('includeLambdas'),
      synthetic: query.flag('synthetic'),
    }),

  callers({ snapshot }, query, name) {
    const filter = {
      descriptor: query.text('descriptor'),
      includeLibraries: query.flag('includeLibraries'),
      includeSubtypes: query.flag('includeSubtypes'),
      synthetic: query.flag('synthetic'),
    }
    return callersOf(snapshot, name, filter, query.paging())
  },

  path({ snapshot }, query, _name, { run }) {
    const ends = { from: query.text('from') ?? '', to: query.text('to') ?? '' }
    const filter = {
      limit: query.number('limit') ?? DEFAULT_PATHS,
      maxDepth: query.number('maxDepth') ?? DEFAULT_DEPTH,
      includeLibraries: query.flag('includeLibraries'),
    }
    return pathOf(snapshot, ends, filter, run)
  },

  reach({ snapshot }, query, _name, { run }) {
    const ends = { from: query.text('from') ?? DEFAULT_ROOTS, to: query.text('to') ?? '' }
    const filter = {
      analysis: query.word('analysis', ANALYSES) ?? 'rta',
      includeLibraries: query.flag('includeLibraries'),
    }
    return reachOf(snapshot, ends, filter, run)
  },

  dead({ snapshot }, query, _name, { run }) {
    const from = query.text('from') ?? DEFAULT_ROOTS
    return deadOf(
      snapshot,
      from,
      { analysis: query.word('analysis', ANALYSES) ?? 'rta' },
      query.paging(),
      run,
    )
  },

  xref({ snapshot }, query, name) {
    const filter = {
      kind: query.word('kind', REFERENCE_KINDS),
      scopeImplementing: query.text('scopeImplementing'),
      includeLibraries: query.flag('includeLibraries'),
      declared: query.flag('declared'),
      synthetic: query.flag('synthetic'),
    }
    return xrefOf(snapshot, name, filter, query.paging())
  },

  deps_graph({ snapshot }, query, _name, { reply }) {
    const format = query.word('format', GRAPH_FORMATS) ?? 'json'
    const graph = graphView(snapshot)
    return format === 'json'
      ? graph
      : reply.type(`${GRAPH_TYPES[format]}; charset=utf-8`).send(renderGraph(graph, format))
  },

  foundation({ snapshot }, query) {
    return foundationClasses(snapshot, query.number('minDependents') ?? 2)
  },

  duplicates: ({ snapshot }, query, _name, { run, hash }) =>
    duplicatesOf(snapshot, query.word('of', DUPLICATES) ?? 'class', query.paging(), { run, hash }),

  async deps_check({ snapshot, classpathResolvedBy }, query, _name, { run, declared, listServices }) {
    const of = query.word('of', DEPENDENCY_FINDINGS)
    return checkDependencies(snapshot, await declared(classpathResolvedBy), of, query.paging(), {
      run,
      listServices,
    })
  },

  rules_infer: ({ snapshot }, _query, _name, { run }) => inferRules(snapshot, run),

  cycles: ({ snapshot }, query) => dependencyCycles(snapshot, query.word('of', CYCLE_MEMBERS) ?? 'class'),
}
