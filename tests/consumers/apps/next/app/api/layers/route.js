import { compute } from '../../../compute.js'

export const dynamic = 'force-dynamic'

export const GET = async () => Response.json(await compute().catch((error) => ({ error: String(error) })))
