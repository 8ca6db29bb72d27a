// A small grammar that writes short stories: somebody has a wish, meets an obstacle and finds a helper.
//   node grammar.js [seed]
//
// `tell` is the whole grammar. It makes choices, each among equally likely options, and writes text.
// Different choices never write the same text. So -log of a story's probability is the sum of log(options)
// over the choices. On average, no model can predict the stories at a lower cost.

import { pathToFileURL } from 'node:url'

/**
 * @typedef {{ they: string, them: string, They: string, Their: string }} Pronouns
 * @typedef {Pronouns & { name: string }} Someone
 * @typedef {<T>(options: T[]) => T} Choose returns one of the options
 * @typedef {(text: string) => void} Write takes the next words
 */

const SHE = { they: 'she', them: 'her', They: 'She', Their: 'Her' }
const HE = { they: 'he', them: 'him', They: 'He', Their: 'His' }
const THEY = { they: 'they', them: 'them', They: 'They', Their: 'Their' }

const named = (/** @type {string} */ names, /** @type {Pronouns} */ pronouns) =>
  names.split(' ').map((name) => ({ name, ...pronouns }))
const GIRLS = named('Amara Yuki Leila Rosa Priya Nora Mei Zuri Aylin Ines Freya Thandi', SHE)
const BOYS = named('Kofi Hiro Omar Mateo Arjun Emil Tariq Kai Luca Pavel Ade Sven', HE)
const NAMES = [...GIRLS, ...BOYS]
const FRIENDS = 'Anya Bo Chidi Dalia Elif Felix Gita Hana Ivo Jun Lina Malik'.split(' ')

const TRAITS =
  'little small big young old curious shy cheerful lonely brave quiet patient merry clumsy hopeful'.split(' ')
const KINDS = [
  { one: 'girl', two: 'sisters', names: GIRLS },
  { one: 'boy', two: 'brothers', names: BOYS },
  { one: 'woman', two: 'women', names: GIRLS },
  { one: 'man', two: 'men', names: BOYS },
  { one: 'princess', two: 'princesses', names: GIRLS },
  { one: 'prince', two: 'princes', names: BOYS },
  { one: 'king', two: 'kings', names: BOYS },
  { one: 'witch', two: 'witches', names: GIRLS },
  { one: 'child', two: 'children', names: NAMES },
  { one: 'knight', two: 'knights', names: NAMES },
  { one: 'robot', two: 'robots', names: NAMES },
  { one: 'dragon', two: 'dragons', names: NAMES },
  { one: 'undergraduate', two: 'undergraduates', names: NAMES },
  { one: 'cat', two: 'cats', names: NAMES },
  { one: 'dog', two: 'dogs', names: NAMES },
  { one: 'bear', two: 'bears', names: NAMES },
  { one: 'wolf', two: 'wolves', names: NAMES },
  { one: 'lion', two: 'lions', names: NAMES },
  { one: 'bird', two: 'birds', names: NAMES },
  { one: 'pig', two: 'pigs', names: NAMES },
  { one: 'monkey', two: 'monkeys', names: NAMES },
  { one: 'elephant', two: 'elephants', names: NAMES },
  { one: 'owl', two: 'owls', names: NAMES },
  { one: 'frog', two: 'frogs', names: NAMES },
  { one: 'fox', two: 'foxes', names: NAMES },
  { one: 'mouse', two: 'mice', names: NAMES },
  { one: 'rabbit', two: 'rabbits', names: NAMES },
  { one: 'hedgehog', two: 'hedgehogs', names: NAMES },
  { one: 'squirrel', two: 'squirrels', names: NAMES },
  { one: 'lamb', two: 'lambs', names: NAMES },
  { one: 'duck', two: 'ducks', names: NAMES },
  { one: 'penguin', two: 'penguins', names: NAMES },
]

const PLACES = [
  'in a sleepy village',
  'in a small house',
  'in a big city',
  'in an old castle',
  'in a dark forest',
  'in a faraway land',
  'in a busy harbor town',
  'in a green valley',
  'in a crooked tower',
  'in a house on wheels',
  'at the edge of a forest',
  'at the foot of a mountain',
  'at the end of the road',
  'on a windy island',
  'on a sunflower farm',
  'near a silver lake',
  'near an old mill',
  'beside a waterfall',
  'under a giant oak',
]

const CHORES = [
  'fed the hens',
  'watered the beans',
  'swept the yard',
  'carried water',
  'picked berries',
  'washed the cups',
  'painted stones',
  'read old books',
]
const PLEASURES = [
  'counted the clouds',
  'listened to the wind',
  'drew in the sand',
  'played the flute',
  'told jokes to the moon',
  'danced in the rain',
  'chased butterflies',
  'sang to the bees',
]

const WISHES = [
  { see: 'see the sea', saw: 'saw the sea' },
  { see: 'watch the whales', saw: 'watched the whales' },
  { see: 'ring the great bell', saw: 'rang the great bell' },
  { see: 'find the hidden garden', saw: 'found the hidden garden' },
  { see: 'dance at the festival', saw: 'danced at the festival' },
  { see: 'sing for the queen', saw: 'sang for the queen' },
  { see: 'meet a mermaid', saw: 'met a mermaid' },
  { see: 'ride on a train', saw: 'rode on a train' },
  { see: 'swim with the dolphins', saw: 'swam with the dolphins' },
  { see: 'fly in a balloon', saw: 'flew in a balloon' },
  { see: 'learn the oldest song', saw: 'learned the oldest song' },
  { see: 'paint the sunrise', saw: 'painted the sunrise' },
  { see: 'sleep under the stars', saw: 'slept under the stars' },
  { see: 'climb the old tower', saw: 'climbed the old tower' },
  { see: 'build a lighthouse', saw: 'built a lighthouse' },
  { see: 'catch a falling star', saw: 'caught a falling star' },
  { see: 'hug a panda', saw: 'hugged a panda' },
  { see: 'ride a camel', saw: 'rode a camel' },
  { see: 'win the great race', saw: 'won the great race' },
  { see: 'plant a hundred trees', saw: 'planted a hundred trees' },
]

const TIMES = ['morning', 'afternoon', 'evening', 'day', 'Sunday', 'summer']
const SEASONS = ['spring', 'summer', 'autumn', 'winter']
const WEATHERS = ['bright', 'cold', 'golden', 'misty', 'warm', 'windy', 'quiet', 'sunny']

const SNACKS = [
  { some: 'some bread', the: 'the bread' },
  { some: 'three apples', the: 'the apples' },
  { some: 'a jar of honey', the: 'the honey' },
  { some: 'a bag of nuts', the: 'the nuts' },
  { some: 'a pot of soup', the: 'the soup' },
  { some: 'a round cheese', the: 'the cheese' },
  { some: 'a basket of plums', the: 'the plums' },
  { some: 'nine rice cakes', the: 'the rice cakes' },
  { some: 'six pancakes', the: 'the pancakes' },
  { some: 'a melon', the: 'the melon' },
]

const OBSTACLES = [
  {
    was: 'the river was too wide',
    is: 'the river is too wide',
    solved: 'built a raft and crossed the river',
  },
  { was: 'the hill was too steep', is: 'the hill is too steep', solved: 'tied a rope and climbed the hill' },
  { was: 'the bridge was broken', is: 'the bridge is broken', solved: 'mended the bridge with old planks' },
  { was: 'the gate was locked', is: 'the gate is locked', solved: 'found the key under a stone' },
  { was: 'the snow was too deep', is: 'the snow is too deep', solved: 'made a sled and slid over the snow' },
  {
    was: 'the fog was too thick',
    is: 'the fog is too thick',
    solved: 'followed a little bell through the fog',
  },
  {
    was: 'the forest was too dark',
    is: 'the forest is too dark',
    solved: 'followed the fireflies through the forest',
  },
  { was: 'the storm was too wild', is: 'the storm is too wild', solved: 'waited until the sun came out' },
  { was: 'the map was wrong', is: 'the map is wrong', solved: 'asked the stars for the way' },
  { was: 'the bees were angry', is: 'the bees are angry', solved: 'hummed until the bees fell asleep' },
  {
    was: 'the wall was too high',
    is: 'the wall is too high',
    solved: 'made a ladder and climbed over the wall',
  },
  { was: 'the boat had a hole', is: 'the boat has a hole', solved: 'patched the boat with wax' },
  { was: 'the ice was too thin', is: 'the ice is too thin', solved: 'took the long way around the lake' },
  {
    was: 'a giant was in the way',
    is: 'a giant is in the way',
    solved: 'told the giant a joke and tiptoed past',
  },
]

const SORROWS = [
  'sighed',
  'sat down on a stone',
  'wanted to go home',
  'did not know what to do',
  'felt very small',
]

const HELPERS =
  'turtle owl goat crow donkey heron frog badger baker shepherd beaver wizard sailor snail'.split(' ')
const VIRTUES = 'old kind tiny clever gentle funny wise friendly sleepy polite'.split(' ')

const QUESTIONS = ['What is wrong?', 'Why are you so sad?', 'Where are you going?', 'Can I help you?']
const ANSWERS = [
  'Do not worry,',
  'I have an idea!',
  'Let us try together,',
  'That is easy!',
  'Come with me,',
  'Nothing is impossible!',
]
const MORALS = [
  'A wish is lighter when friends carry it,',
  'Good friends make a long road short,',
  'No wish is too big for good friends,',
  'Every journey begins with one small step,',
  'Even the longest road has an end,',
  'Kind words open many doors,',
]

const a = (/** @type {string} */ word) => `${/^[aeiou]/.test(word) ? 'an' : 'a'} ${word}`
const capital = (/** @type {string} */ text) => text[0].toUpperCase() + text.slice(1)

/**
 * @template T
 * @param {T[]} list
 * @param {0 | 1} half
 * @returns {T[]} its first or second half
 */
const halfOf = (list, half) => list.slice((half * list.length) / 2, ((half + 1) * list.length) / 2)

/**
 * Tells a story: every choice goes through `choose`, every word through `write`.
 *
 * @param {Choose} choose
 * @param {Write} write
 */
export function tell(choose, write) {
  // Who, and where?
  const opening = choose(['there was', 'there were', 'a', 'two', 'place first', 'the', 'one day'])
  const isPair = opening === 'there were' || opening === 'two'
  let start = ''
  if (opening === 'there was' || opening === 'there were') {
    start = choose(['Once upon a time,', 'Once upon a time', 'Long ago,', ''])
    start += start ? ` ${opening}` : capital(opening)
  }
  if (opening === 'a' || opening === 'two') start = choose(['Once upon a time,', 'Long ago,', ''])
  if (opening === 'place first') start = `${capital(choose(PLACES))}, there lived`
  if (opening === 'one day') start = choose(['any', '']) ? `One ${choose(WEATHERS)} day,` : 'One day,'
  write(start)
  const article = opening === 'the' ? 'the' : isPair ? 'two' : 'a'
  const noun = (/** @type {string} */ word) => (article === 'a' ? a(word) : `${article} ${word}`)
  const begin = (/** @type {string} */ words) => write(start ? ` ${words}` : capital(words))
  const trait = choose(['any', '']) ? choose(TRAITS) : ''
  if (trait) begin(noun(trait))
  const kind = choose(KINDS)
  const who = isPair ? kind.two : kind.one
  if (trait) write(` ${who}`)
  else begin(noun(who))

  write(opening === 'the' ? ' was named' : ' named')
  // Two heroes have names from two halves of the list, so that they differ.
  const heroes = [choose(isPair ? halfOf(kind.names, 0) : kind.names)]
  write(` ${heroes[0].name}`)
  if (isPair) {
    heroes.push(choose(halfOf(kind.names, 1)))
    write(` and ${heroes[1].name}`)
  }
  const { they, them, They, Their } = isPair ? THEY : heroes[0]
  const hero = heroes.map(({ name }) => name).join(' and ')
  if (opening === 'one day') write(` sat ${choose(PLACES)} and made a wish.`)
  else if (opening === 'a' || opening === 'two') write(` lived ${choose(PLACES)}.`)
  else write('.')
  if (opening.startsWith('there') || opening === 'the') {
    write(` ${choose([They, hero])}`)
    write(` lived ${choose(PLACES)}.`)
  }

  if (opening !== 'one day' && choose(['habits', ''])) {
    write(` Every ${choose(TIMES)}, ${they}`)
    write(` ${choose(CHORES)} and`)
    write(` ${choose(PLEASURES)}.`)
  }

  // A wish.
  const want = choose([
    `More than anything, ${hero} wanted to`,
    `${Their} greatest wish was to`,
    `${hero} had one big wish: to`,
  ])
  const wish = choose(WISHES)
  write(` ${want} ${wish.see}.`)

  // A journey, and what stops it.
  write(` One ${choose(WEATHERS)}`)
  write(` ${choose(['morning', 'day'])}, ${they}`)
  const snack = choose(['packed', '']) ? choose(SNACKS) : null
  if (snack) write(` packed ${snack.some} and`)
  write(` ${choose(['set out', 'left home', 'began to walk'])}.`)
  const obstacle = choose(OBSTACLES)
  write(` But ${obstacle.was}, and ${they} ${choose(SORROWS)}.`)

  // A helper.
  write(` ${choose(['Just then', 'After a while', 'Luckily'])}`)
  write(`, ${a(choose(VIRTUES))}`)
  const helper = choose(HELPERS)
  write(` ${helper} named`)
  const friend = choose(FRIENDS)
  write(` ${friend}`)
  write(` ${choose(['came along', 'passed by', `heard ${them}`])}.`)
  write(` ${friend} ${choose(['smiled', 'nodded', 'waved'])}.`)
  const talk = choose(['asks', ''])
  if (talk === 'asks') {
    write(` "${choose(QUESTIONS)}" asked the ${helper}.`)
    write(` "${isPair ? 'We' : 'I'} want to ${wish.see}," said ${heroes[0].name}, "but ${obstacle.is}."`)
  }
  write(` "${choose(ANSWERS)}" said ${friend}.`)
  write(` ${choose(['Together they', 'So they', 'Step by step, they', 'Side by side, they'])}`)
  write(` ${obstacle.solved}.`)

  // The wish comes true.
  write(` ${choose(['At last', 'And so', 'That evening', 'The next day'])}, ${hero} ${wish.saw}.`)
  if (snack) write(` ${choose(['Afterwards', 'Then'])}, ${they} shared ${snack.the} with ${friend}.`)
  else write(` ${They} ${choose(['had never been so happy', 'laughed and laughed', 'shouted for joy'])}.`)
  const ending = choose(['friends', 'again', 'never forgot', 'moral', 'we did it'])
  const all = [...heroes.map(({ name }) => name), friend]
  const everyone = `${all.slice(0, -1).join(', ')} and ${friend}`
  if (ending === 'friends') write(` From that day on, ${everyone} were good friends.`)
  if (ending === 'again') write(` And every ${choose(SEASONS)}, ${everyone} ${wish.saw} together.`)
  if (ending === 'never forgot')
    write(` ${hero} never forgot the ${helper} who had helped ${them} ${wish.see}.`)
  if (ending === 'moral') write(` "${choose(MORALS)}" said ${friend}, and ${hero} smiled.`)
  if (ending === 'we did it') write(` "I will never forget how we ${wish.saw}," said ${heroes[0].name}.`)
}

/**
 * @param {number} seed
 * @returns {() => number} the next number from 0 to 1 (mulberry32)
 */
export function randomFrom(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let x = Math.imul(state ^ (state >>> 15), state | 1)
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61)
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32
  }
}

/**
 * @param {() => number} random
 * @returns {{ text: string, cost: number }} a story and -log of its probability, in nats
 */
export function writeStory(random) {
  let text = ''
  let cost = 0
  tell(
    (options) => {
      cost += Math.log(options.length)
      return options[Math.floor(random() * options.length)]
    },
    (more) => (text += more),
  )
  return { text, cost }
}

/**
 * All the choices with which the grammar writes a story that begins with `text`.
 *
 * @param {string} text
 * @returns {{ cost: number, complete: boolean }[]} empty when the grammar cannot write the text. cost: of the
 *   choices made until the end of the text; complete: whether the story ends with the text
 */
export function readStory(text) {
  const STOP = Symbol('the text has ended, or differs')
  /** @type {{ cost: number, complete: boolean }[]} */
  const found = []
  /** The choices of an attempt, in order. @type {{ index: number, count: number }[]} */
  const path = []
  do {
    let [made, read, cost] = [0, 0, 0]
    const stopAtEnd = () => {
      if (read < text.length) return
      found.push({ cost, complete: false })
      throw STOP
    }
    try {
      tell(
        (options) => {
          stopAtEnd()
          if (made === path.length) path.push({ index: 0, count: options.length })
          cost += Math.log(options.length)
          return options[path[made++].index]
        },
        (more) => {
          const rest = text.slice(read, read + more.length)
          if (!more.startsWith(rest)) throw STOP
          stopAtEnd()
          read += more.length
        },
      )
      if (read === text.length) found.push({ cost, complete: true })
      else if (read > text.length) found.push({ cost, complete: false })
    } catch (error) {
      if (error !== STOP) throw error
    }
    // The next attempt differs in the last choice that has an option left.
    path.length = made
    while (path.length > 0 && path[path.length - 1].index === path[path.length - 1].count - 1) path.pop()
    if (path.length > 0) path[path.length - 1].index++
  } while (path.length > 0)
  return found
}

/**
 * @param {string} text
 * @returns {string[]} its tokens: words with the space and the quotation mark before them, and punctuation.
 *   Joined, they are the text again
 */
export const splitWords = (text) => text.match(/ ?"?\w+|[^\w ]+/g) ?? []

/** The token that begins and ends a story. */
export const END = '\n'

/** @returns {string[]} every token of the stories, END first, the others sorted */
export function vocabulary() {
  const random = randomFrom(1)
  const stories = Array.from({ length: 3000 }, () => writeStory(random).text)
  return [END, ...[...new Set(stories.flatMap(splitWords))].sort()]
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { text, cost } = writeStory(randomFrom(Number(process.argv[2] ?? 123)))
  console.log(`${text}\n(${splitWords(text).length} tokens, ${cost.toFixed(1)} nats)`)
}
