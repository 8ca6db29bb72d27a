// The code of gpt-layers-generator.js, in a chunk of its own: only who starts it from its code downloads it.

export default GENERATOR_CODE
