// The application that every consumer bundles or runs.

import { compute } from './compute.js'

compute()
  .catch((error) => ({ error: `${error.name} ${error.code}: ${error.message}` }))
  .then((result) => {
    globalThis.result = result // read in a browser
    console.log(JSON.stringify(result)) // read on a server
  })
