import { compute } from './compute.js'

export default {
  fetch: async () => Response.json(await compute().catch((error) => ({ error: String(error) }))),
}
