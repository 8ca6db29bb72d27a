// Runs these files in one process. They share one Chromium, and one Firefox for each of READERS. run.js runs
// this file in their place.

import './everywhere.test.js'
import './deep-links.test.js'
import './story.test.js'
