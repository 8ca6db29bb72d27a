// These files in one process, so that they share Chromium and each reader's Firefox. run.js runs this file
// in their place.

import './everywhere.test.js'
import './deep-links.test.js'
import './story.test.js'
