export { loadWorkspaceConfig, type WorkspaceConfig } from './config.ts'
export { create, type WorkspaceDeps, type WorkspaceServer } from './server.ts'
