export { loadSupervisorConfig, type SupervisorConfig } from './config.ts'
export { create, type RunningSupervisor, type SupervisorServerDeps } from './server.ts'
