export { type AnalyzerConfig, loadAnalyzerConfig } from './config.ts'
export { type AnalyzerDeps, type AnalyzerServer, create } from './server.ts'
