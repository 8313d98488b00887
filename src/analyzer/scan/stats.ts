import type { Scan } from './scan.ts'
import { classSummary } from '../query/types/class-summary.ts'

/** Returns the counts of a scan. */
export function statsOf({ snapshot, ...scan }: Scan) {
  const counts = { PROJECT: 0, LIBRARY: 0, JDK: 0 }
  const project = {
    interfaces: 0,
    abstractClasses: 0,
    enums: 0,
    annotations: 0,
    records: 0,
    methods: 0,
    fields: 0,
  }
  for (const id of snapshot.index.byName()) {
    const source = snapshot.sourceOf(id)
    counts[source]++
    if (source !== 'PROJECT') continue
    const summary = classSummary(snapshot, id)
    if (summary.isAnnotation) project.annotations++
    else if (summary.isInterface) project.interfaces += summary.simpleName === 'package-info' ? 0 : 1
    else if (summary.isEnum) project.enums++
    else if (summary.isAbstract) project.abstractClasses++
    if (summary.isRecord) project.records++
    project.methods += summary.methodCount
    project.fields += summary.fieldCount
  }
  return {
    projectClassCount: counts.PROJECT,
    libraryClassCount: counts.LIBRARY,
    jdkClassCount: counts.JDK,
    projectInterfaceCount: project.interfaces,
    projectAbstractClassCount: project.abstractClasses,
    projectEnumCount: project.enums,
    projectAnnotationCount: project.annotations,
    projectRecordCount: project.records,
    projectMethodCount: project.methods,
    projectFieldCount: project.fields,
    classpathResolvedBy: scan.classpathResolvedBy,
    classpathEntryCount: scan.classpathEntryCount,
    diagnosticCount: scan.diagnostics.length,
    scanDurationMs: scan.durationMs,
    scannedAt: scan.scannedAt.toISOString(),
  }
}
