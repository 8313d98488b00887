import { makeVmImage } from './vm-image.ts'

/** Before all suites of VMs, and after their parts are there: makes the image that workspaces boot from. */
export default makeVmImage
