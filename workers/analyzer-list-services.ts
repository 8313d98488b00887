import { listServices, type ListServicesTask } from '../src/analyzer/scan/list-services.ts'

/** Lists what archives register; see listServices. */
export default function analyzerListServices(task: ListServicesTask): readonly (readonly string[])[] {
  return listServices(task)
}
