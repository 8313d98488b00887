import { REFERENCE_KINDS } from '../../src/analyzer/choices.ts'

/**
 * Shape of a value: the name of a type, with '?' if it may be null; a list's items; an object's fields, with '?'
 * after the key of an optional one; a function for an enumeration or a recursive shape. Additional fields are
 * allowed.
 */
export type Shape = string | readonly [Shape] | { readonly [key: string]: Shape } | (() => Shape)

const SOURCES = 'PROJECT|LIBRARY|JDK|UNKNOWN'
const MEDIA_JSON = 'application/json'

const summary: Shape = {
  fqn: 'string',
  simpleName: 'string',
  packageName: 'string',
  source: SOURCES,
  isInterface: 'boolean',
  isAbstract: 'boolean',
  isEnum: 'boolean',
  isAnnotation: 'boolean',
  methodCount: 'number',
  fieldCount: 'number',
}
const paging: { readonly [key: string]: Shape } = {
  totalCount: 'number',
  page: 'number',
  pageSize: 'number',
  totalPages: 'number',
}
const annotation: Shape = { type: 'string', parameters: 'object' }
const method: Shape = {
  name: 'string',
  descriptor: 'string',
  visibility: 'string',
  returnType: 'string',
  parameters: [{ name: 'string', type: 'string', annotations: [annotation] }],
  annotations: [annotation],
  isStatic: 'boolean',
  isAbstract: 'boolean',
  isFinal: 'boolean',
  isSynthetic: 'boolean',
}
const node = (): Shape => ({
  classFqn: 'string',
  simpleName: 'string',
  source: SOURCES,
  isInterface: 'boolean',
  parent: () => [node()],
  interfaces: [node],
  children: [node],
})
const dependency: Shape = {
  classFqn: 'string',
  dependencyType: 'EXTENDS|IMPLEMENTS|FIELD_TYPE|METHOD_RETURN_TYPE|METHOD_PARAMETER|TYPE_REFERENCE',
  source: SOURCES,
  location: 'string?',
}
const source: Shape = {
  fqn: 'string',
  filePath: 'string?',
  language: 'string',
  content: 'string',
  lineCount: 'number',
  module: 'string?',
  sourceOrigin: 'PROJECT_SOURCE|SOURCE_JAR|DECOMPILED|JDK_SOURCE',
  mavenCoordinates: 'string?',
  isDecompiled: 'boolean',
  format: 'string',
}

/** Responses of the analyzer's GET routes for the fixture `shop`, as clients of this API family read them. */
const SHAPES: readonly (readonly [path: string, shape: Shape, mediaType?: string])[] = [
  ['/admin/health', { status: 'UP', timestamp: 'string' }],
  ['/admin/ready', { ready: 'boolean', status: 'string', project: 'string' }],
  [
    '/admin/info',
    {
      version: 'string',
      apiVersion: 'string',
      projectPath: 'string',
      projectName: 'string',
      port: 'number',
      host: 'string',
      status: 'string',
      startedAt: 'string',
      uptime: 'string',
      lastActivityAt: 'string',
      idleDuration: 'string',
      idleTimeout: 'string',
    },
  ],
  [
    '/api/v1/project',
    { name: 'string', path: 'string', status: 'string', classCount: 'number', scannedAt: 'string' },
  ],
  ['/api/v1/project/diagnostics', { diagnostics: ['object'] }],
  [
    '/api/v1/stats',
    {
      projectClassCount: 'number',
      libraryClassCount: 'number',
      jdkClassCount: 'number',
      projectInterfaceCount: 'number',
      projectAbstractClassCount: 'number',
      projectEnumCount: 'number',
      projectAnnotationCount: 'number',
      projectMethodCount: 'number',
      projectFieldCount: 'number',
      classpathResolvedBy: 'string',
      classpathEntryCount: 'number',
      scanDurationMs: 'number',
      scannedAt: 'string',
    },
  ],
  [
    '/api/v1/classes',
    {
      classes: [summary],
      ...paging,
      appliedFilter: {
        packagePattern: 'string?',
        namePattern: 'string?',
        source: 'string?',
        hasAnnotation: 'string?',
        extendsClass: 'string?',
        implementsInterface: 'string?',
      },
    },
  ],
  [
    '/api/v1/classes/shop.model.Order',
    {
      classInfo: {
        name: { fqn: 'string', simpleName: 'string', packageName: 'string' },
        source: SOURCES,
        visibility: 'string',
        isInterface: 'boolean',
        isAbstract: 'boolean',
        isFinal: 'boolean',
        isEnum: 'boolean',
        isAnnotation: 'boolean',
        isSynthetic: 'boolean',
        superclass: 'string',
        interfaces: ['string'],
        annotations: [annotation],
        constructors: [method],
        methods: [method],
        fields: [
          {
            name: 'string',
            visibility: 'string',
            type: 'string',
            annotations: [annotation],
            isStatic: 'boolean',
            isFinal: 'boolean',
          },
        ],
      },
    },
  ],
  [
    '/api/v1/implementations/shop.model.Priced',
    {
      targetClass: 'string',
      directImplementations: [summary],
      indirectImplementations: [summary],
      totalCount: 'number',
    },
  ],
  ['/api/v1/hierarchy/shop.model.Order', { targetClass: 'string', hierarchy: node }],
  [
    '/api/v1/dependencies/shop.model.Order?includeLibraries=true',
    { targetClass: 'string', outgoing: [dependency], incoming: [dependency] },
  ],
  [
    '/api/v1/annotations/usages/shop.route.Route',
    {
      annotationFqn: 'string',
      usages: [
        {
          target: 'CLASS|METHOD|CONSTRUCTOR|FIELD|PARAMETER',
          classFqn: 'string',
          classSimpleName: 'string',
          packageName: 'string',
          classSource: SOURCES,
          'method?': 'string',
          'descriptor?': 'string',
          'field?': 'string',
          'parameterIndex?': 'number',
          'parameterName?': 'string',
          annotation,
        },
      ],
      ...paging,
      countsByTarget: 'object',
    },
  ],
  [
    '/api/v1/methods?name=p*',
    {
      methods: [{ classFqn: 'string', classSimpleName: 'string', classSource: SOURCES, method }],
      ...paging,
    },
  ],
  [
    '/api/v1/calls/shop.service.Calls',
    {
      fqn: 'string',
      methods: [
        {
          methodName: 'string',
          descriptor: 'string',
          calls: [
            {
              ownerType: 'string',
              methodName: 'string',
              descriptor: 'string',
              isInterface: 'boolean',
              constantArgs: [{ kind: 'STRING|INT|LONG|FLOAT|DOUBLE|CLASS', value: 'scalar' }],
              lineNumber: 'number?',
            },
          ],
        },
      ],
      totalCalls: 'number',
    },
  ],
  [
    '/api/v1/path?from=shop.service.Calls&to=shop.model.Item%23price&limit=1',
    {
      from: 'string',
      to: 'string',
      paths: [
        {
          length: 'number',
          steps: [
            {
              classFqn: 'string',
              classSimpleName: 'string',
              classSource: SOURCES,
              methodName: 'string',
              methodDescriptor: 'string',
              ownerType: 'string',
              descriptor: 'string',
              lineNumber: 'number?',
              via: 'call|methodRef|lambda',
              reason: 'string',
              calleeFqn: 'string',
              calleeSource: SOURCES,
              calleeName: 'string',
            },
          ],
        },
      ],
      visitedCount: 'number',
      isCut: 'boolean',
      note: 'string',
      appliedFilter: { limit: 'number', maxDepth: 'number', includeLibraries: 'boolean' },
    },
  ],
  [
    '/api/v1/reach?from=shop.service.Calls&to=shop.model.Item%23price',
    {
      targets: [
        {
          target: 'string',
          status: 'reachable|unreachable|absent',
          root: { kind: 'string', reason: 'string', classFqn: 'string' },
          steps: [
            {
              classFqn: 'string',
              classSimpleName: 'string',
              classSource: SOURCES,
              sourceFile: 'string?',
              methodName: 'string',
              methodDescriptor: 'string',
              ownerType: 'string',
              descriptor: 'string',
              lineNumber: 'number?',
              via: 'call|methodRef|lambda|initializer|callback',
              reason: 'string',
              calleeFqn: 'string',
              calleeSource: SOURCES,
              calleeName: 'string',
            },
          ],
          note: 'string?',
        },
      ],
      reachableCount: 'number',
      rootCounts: 'object',
      reachedMethodCount: 'number',
      note: 'string',
      appliedFilter: { from: 'string', analysis: 'rta|cha', includeLibraries: 'boolean' },
    },
  ],
  ['/api/v1/graph/declared', { dependencies: ['object'], ...paging, problem: 'string?', notes: ['string'] }],
  ['/api/v1/duplicates', { of: 'class', classes: ['object'], pairs: ['object'], ...paging }],
  ['/api/v1/duplicates?of=package', { of: 'package', packages: ['object'], ...paging }],
  ['/api/v1/rules/infer', { rules: { rules: ['object'] }, baseline: ['string'], note: 'string' }],
  [
    '/api/v1/dead?from=shop.model.Item',
    {
      classes: [
        {
          classFqn: 'string',
          isDead: 'boolean',
          reason: 'string?',
          members: [
            {
              kind: 'method|constructor|field',
              name: 'string',
              descriptor: 'string',
              lineNumber: 'number?',
              reason: 'string',
            },
          ],
        },
      ],
      ...paging,
      deadClassCount: 'number',
      deadMethodCount: 'number',
      deadFieldCount: 'number',
      rootCounts: 'object',
      reachedMethodCount: 'number',
      note: 'string',
      appliedFilter: { from: 'string', analysis: 'rta|cha' },
    },
  ],
  [
    '/api/v1/xref/shop.model.Item',
    {
      typeFqn: 'string',
      references: [
        {
          fromFqn: 'string',
          fromSimpleName: 'string',
          fromSource: SOURCES,
          kind: REFERENCE_KINDS.join('|'),
          member: 'string?',
          detail: 'string',
          lineNumber: 'number?',
        },
      ],
      ...paging,
      countsByKind: 'object',
      countsByPackage: 'object',
      appliedFilter: { includeLibraries: 'boolean', kind: 'string?', scopeImplementing: 'string?' },
    },
  ],
  [
    '/api/v1/graph',
    {
      nodes: [
        {
          fqn: 'string',
          simpleName: 'string',
          packageName: 'string',
          inDegree: 'number',
          outDegree: 'number',
        },
      ],
      edges: [{ source: 'string', target: 'string', type: 'string' }],
      nodeCount: 'number',
      edgeCount: 'number',
    },
  ],
  ['/api/v1/graph?format=dot', 'string', 'text/vnd.graphviz'],
  [
    '/api/v1/graph/foundation',
    {
      foundationClasses: [
        {
          fqn: 'string',
          simpleName: 'string',
          packageName: 'string',
          dependentCount: 'number',
          dependents: ['string'],
        },
      ],
      count: 'number',
    },
  ],
  ['/api/v1/source/shop.model.Size?format=signatures', { source }],
]

export const ANALYZER_SHAPES = SHAPES.map(
  ([path, shape, mediaType = MEDIA_JSON]): readonly [string, Shape, string] => [path, shape, mediaType],
)
