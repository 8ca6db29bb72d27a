// The state of the feed-forward network: whether a layer norm comes before it.

import { flag, slice } from '../../fields.ts'

export const DIM = 768
export const HIDDEN = 4 * DIM

export default slice({ norm: flag(false) })
