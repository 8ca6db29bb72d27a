// The section has no state of its own: its switch is the page's.

import { slice } from '../../fields.ts'

export default slice({})
