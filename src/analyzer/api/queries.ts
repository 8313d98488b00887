import {
  ANALYSES,
  CYCLE_MEMBERS,
  DEPENDENCY_FINDINGS,
  DUPLICATES,
  GRAPH_FORMATS,
  REFERENCE_KINDS,
  USAGE_SCOPES,
} from '../choices.ts'
import { SOURCE_FORMATS } from '../source/java/source-format.ts'
import { SHOWN_LANGUAGES } from '../source/archive/source-text.ts'
import { VISIBILITIES } from '../source/java/visibility.ts'

/** JSON Schema of a query's parameter. */
interface ParameterSchema {
  readonly type: 'string' | 'boolean' | 'integer'
  readonly description: string
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  /** Whether a larger number counts as the maximum. */
  readonly 'x-clamped'?: true
}

interface Subject {
  readonly key: string
  readonly description: string
}

/** Media types of graphs by format. */
export const GRAPH_TYPES = {
  dot: 'text/vnd.graphviz',
  mermaid: 'text/plain',
  graphml: 'application/xml',
  html: 'text/html',
} as const

/** One kind of query that a server answers. */
export interface QueryDefinition {
  /** Route below `/api/v1`. `:name` is the subject, and the key of `part` names a part of it. */
  readonly path: string
  readonly summary: string
  /** Meaning of `:name`. */
  readonly about?: Subject
  readonly part?: Subject
  readonly parameters: Readonly<Record<string, ParameterSchema>>
  /** Parameters that a request must have. */
  readonly required?: readonly string[]
  /** Media types of the response, besides JSON. */
  readonly mediaTypes?: readonly string[]
}

const text = (description: string): ParameterSchema => ({ type: 'string', description })
const flag = (description: string): ParameterSchema => ({ type: 'boolean', description })
const word = (words: readonly string[], description: string): ParameterSchema => ({
  type: 'string',
  enum: words,
  description,
})

const includeLibraries = flag('include classes of libraries and the JDK; default false')
/** A number of things to list; a larger one than the maximum counts as the maximum. */
const atMost = (maximum: number, minimum: number, description: string) =>
  ({ type: 'integer', minimum, maximum, 'x-clamped': true, description }) as const
const paging = {
  page: { type: 'integer', minimum: 0, description: 'page number, from 0; default 0' },
  size: atMost(10_000, 1, 'page size; default 50'),
} as const satisfies Readonly<Record<string, ParameterSchema>>

const traversing = {
  analysis: word(
    ANALYSES,
    'overrides that a call reaches: rta those of classes that reached code creates, cha those of all subtypes; default rta',
  ),
} as const satisfies Readonly<Record<string, ParameterSchema>>
const roots =
  'comma-separated roots: auto for all entry points, a kind of them such as main or test, public for the API of a library, a class, or owner#method; default auto'

const decompiling = {
  allowDecompilation: {
    type: 'boolean',
    description: 'decompile a class without source; default true',
  },
  forceRefresh: flag('decompile again instead of using the cache; default false'),
} as const satisfies Readonly<Record<string, ParameterSchema>>

const aboutClass = {
  key: 'fqn',
  description:
    'class name, for example java.util.Map, or Map if only one class has that name; a nested class is Map.Entry or Map$Entry',
}

/**
 * All queries that a server answers. Its routes, their parameters in the OpenAPI description and the tools of
 * `analyzer mcp` are generated from this table.
 */
const QUERIES = {
  stats: { path: '/stats', summary: 'Count classes, methods and fields', parameters: {} },
  classes_list: {
    path: '/classes',
    summary: 'List classes that match a filter',
    parameters: {
      package: text('pattern for the package; * matches any text'),
      name: text('pattern for the simple name; * matches any text'),
      annotation: text('with this annotation'),
      extends: text('subclasses of this class'),
      implements: text('subtypes of this interface'),
      interfaces: flag('only interfaces; default false'),
      includeLibraries,
      ...paging,
    },
  },
  class_show: {
    path: '/classes/:name',
    summary: 'Show a class with its members',
    about: aboutClass,
    parameters: { synthetic: flag('include members that a compiler made; default false') },
  },
  implementations: {
    path: '/implementations/:name',
    summary: 'List the classes that extend or implement a type',
    about: aboutClass,
    parameters: { includeLibraries },
  },
  hierarchy: {
    path: '/hierarchy/:name',
    summary: 'Show the supertypes and subtypes of a type',
    about: aboutClass,
    parameters: {},
  },
  dependencies: {
    path: '/dependencies/:name',
    summary: 'List the dependencies and dependents of a class',
    about: aboutClass,
    parameters: { includeLibraries },
  },
  annotation_usages: {
    path: '/annotations/usages/:name',
    summary: 'Find uses of an annotation, directly or as a meta-annotation',
    about: { key: 'fqn', description: 'full name of the annotation' },
    parameters: {
      scope: word(USAGE_SCOPES, 'what the annotation is on; default all'),
      direct: flag('omit uses as a meta-annotation; default false'),
      includeLibraries,
      ...paging,
    },
  },
  methods_search: {
    path: '/methods',
    summary: 'Find methods that match a filter',
    parameters: {
      name: text('pattern for the name; * matches any text'),
      returnType: text('with this erased return type'),
      annotation: text('with this annotation'),
      inClass: text('pattern for the class'),
      inPackage: text('pattern for the package'),
      includeLibraries,
      ...paging,
    },
  },
  calls: {
    path: '/calls/:name',
    summary: 'List the call sites in a class, method by method',
    about: aboutClass,
    parameters: {
      method: text('only in methods with this name'),
      descriptor: text('only in the overload with this JVM descriptor; with method'),
      inMethodsReturning: text('only in methods with this erased return type'),
      inMethodsAnnotated: text('only in methods with this annotation'),
      includeLambdas: flag(
        'include method references, and calls in lambdas also with a filter of methods; default false',
      ),
      synthetic: flag('list compiler-made methods instead of counting their calls for others; default false'),
    },
  },
  callers: {
    path: '/callers/:name',
    summary: 'Find callers of a method, including method references and lambdas',
    about: { key: 'method', description: 'owner#method, for example java.util.List#add' },
    parameters: {
      descriptor: text('only calls to the overload with this JVM descriptor'),
      includeLibraries,
      includeSubtypes: flag('include calls on subtypes of the owner; default false'),
      synthetic: flag('list compiler-made callers instead of the methods they belong to; default false'),
      ...paging,
    },
  },
  path: {
    path: '/path',
    summary: 'Find the shortest paths of calls from a class or method to another',
    parameters: {
      from: text('class or owner#method where paths start; a class means all of its methods'),
      to: text('class or owner#method where paths end, also of a library or the JDK'),
      limit: atMost(100, 1, 'maximum number of paths; default 5'),
      maxDepth: atMost(100, 1, 'maximum number of calls in a path; default 20'),
      includeLibraries: flag('follow calls in libraries and the JDK too; default false'),
    },
    required: ['from', 'to'],
  },
  reach: {
    path: '/reach',
    summary: 'Find which classes or methods can be reached from entry points, each with a shortest path',
    parameters: {
      from: text(roots),
      to: text('comma-separated classes or owner#method, also of libraries or the JDK; at most 1000'),
      ...traversing,
      includeLibraries: flag('follow calls in libraries and the JDK too; default false'),
    },
    required: ['to'],
  },
  dead: {
    path: '/dead',
    summary: 'List classes, methods and fields of the project that cannot be reached from entry points',
    parameters: { from: text(roots), ...traversing, ...paging },
  },
  xref: {
    path: '/xref/:name',
    summary: 'Find references to a type',
    about: { key: 'fqn', description: 'full name of the type' },
    parameters: {
      includeLibraries,
      kind: word(REFERENCE_KINDS, 'only references of this kind'),
      scopeImplementing: text('only from subtypes of this type'),
      synthetic: flag(
        'list compiler-made members instead of counting their references for others; default false',
      ),
      declared: flag(
        'count calls for the class that declares the method instead of the one named in the bytecode; default false',
      ),
      ...paging,
    },
  },
  deps_graph: {
    path: '/graph',
    summary: 'Show the dependency graph of the project’s classes',
    parameters: { format: word(GRAPH_FORMATS, 'output format; default json') },
    mediaTypes: Object.values(GRAPH_TYPES),
  },
  foundation: {
    path: '/graph/foundation',
    summary: 'List the classes with most dependents',
    parameters: {
      minDependents: { type: 'integer', minimum: 1, description: 'minimum number of dependents; default 2' },
    },
  },
  cycles: {
    path: '/graph/cycles',
    summary: 'Find dependency cycles between classes or packages',
    parameters: { of: word(CYCLE_MEMBERS, 'find cycles of classes or of packages; default class') },
  },
  deps_check: {
    path: '/graph/declared',
    summary:
      'List dependencies that modules declare but do not use, or use but do not declare, for projects built with Maven',
    parameters: { of: word(DEPENDENCY_FINDINGS, 'list only unused or undeclared ones'), ...paging },
  },
  duplicates: {
    path: '/duplicates',
    summary: 'List classes that are on the class path more than once, or packages that are in several places',
    parameters: { of: word(DUPLICATES, 'list classes or packages; default class'), ...paging },
  },
  rules_infer: {
    path: '/rules/infer',
    summary: 'Propose architecture rules that the project satisfies, from the dependencies of its packages',
    parameters: {},
  },
  source_show: {
    path: '/source/:name',
    summary: 'Show the source of a class of the project, a library or the JDK, decompiled if necessary',
    about: aboutClass,
    parameters: {
      format: word(SOURCE_FORMATS, 'the whole file, or only its declarations; default full'),
      visibility: word(VISIBILITIES, 'lowest visibility of the members in an excerpt; default private'),
      lang: word(SHOWN_LANGUAGES, 'only source in this language; decompiled source is always Java'),
      ...decompiling,
    },
  },
  source_method: {
    path: '/source/:name/method/:method',
    summary: 'Show the source of a method, with all overloads',
    about: aboutClass,
    part: {
      key: 'method',
      description: 'method name; <init> or the simple class name for constructors',
    },
    parameters: {
      paramTypes: text('only the overload with these parameter types: int, java.lang.String; () for none'),
      context: atMost(10_000, 0, 'lines of context before and after; default 0'),
      ...decompiling,
    },
  },
} as const satisfies Readonly<Record<string, QueryDefinition>>

/** Name of a query, also of its MCP tool. */
export type QueryName = keyof typeof QUERIES

/** Returns the definition of a query. */
export function queryNamed(name: QueryName): QueryDefinition {
  return QUERIES[name]
}

/** All queries with their names. */
export const queries: readonly (readonly [QueryName, QueryDefinition])[] = Object.entries(
  QUERIES,
) as (readonly [QueryName, QueryDefinition])[]
