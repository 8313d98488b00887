import type { HttpServer } from '../../../lib/http/server.ts'
import type { ProjectIndex } from '../../index/project-index.ts'
import type { AnalyzerFace } from './face.ts'

/** Adds the routes that describe and rescan the project. */
export function projectRoutes({ app }: HttpServer, face: AnalyzerFace): void {
  const { analysis, idle } = face
  const describe = () => {
    const { state } = analysis
    const scan = state.is === 'READY' || state.is === 'REFRESHING' ? state.scan : undefined
    return {
      name: face.projectName,
      path: face.projectPath,
      status: state.is,
      classCount: scan === undefined ? 0 : projectClasses(scan.snapshot),
      classFolders: scan === undefined ? [] : classFolders(scan.snapshot.index),
      scannedAt: scan?.scannedAt.toISOString() ?? null,
      ...(state.is === 'FAILED' && { reason: state.reason }),
      ...(scan?.problem !== undefined && { problem: scan.problem }),
    }
  }

  app.get('/api/v1/project', { schema: { summary: 'Show the project' } }, () => {
    idle.touch()
    return describe()
  })

  app.post(
    '/api/v1/project/refresh',
    {
      schema: { summary: 'Scan changes; responds when done, and queries use the previous index until then' },
    },
    async () => {
      idle.touch()
      const scan = await analysis.refresh()
      return { ...describe(), scanDurationMs: scan.durationMs, classFilesRead: scan.readCount }
    },
  )

  app.get('/api/v1/project/diagnostics', { schema: { summary: 'List files that could not be read' } }, () => {
    idle.touch()
    return { diagnostics: analysis.scan.diagnostics }
  })
}

function projectClasses({ index }: { readonly index: ProjectIndex }): number {
  return index.ofProject().length
}

/** Returns the folders and archives with the project's own classes. */
function classFolders({ slices }: ProjectIndex): readonly string[] {
  const own = slices.filter(({ source }) => source === 'PROJECT')
  // The part of a location after "!/" is inside the archive.
  return [...new Set(own.map(({ location }) => location.split('!/')[0] ?? location))]
}
