export { load } from 'gpt-layers/core'
