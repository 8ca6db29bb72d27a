// The page's sections, in order. To add one, write its slice and its component, and add a line to `slices`
// and to `sections`.
// A section's `load` is called when the reader comes near, so every section but the first has its own chunk.

/** @import { Gpt } from 'gpt-layers' */
/** @import { Component } from 'svelte' */
/** @import { StateOf } from '../fields.js' */
/** @import { Page } from '../page.svelte.js' */

import batchNorm from './batch-norm/slice.js'
import deepStack from './deep-stack/slice.js'
import divisor from './divisor/slice.js'
import feedForward from './feed-forward/slice.js'
import gelu from './gelu/slice.js'
import Opening from './opening/Opening.svelte'
import opening from './opening/slice.js'
import scaleAndShift from './scale-and-shift/slice.js'
import transformerBlock from './transformer-block/slice.js'
import workedExample from './worked-example/slice.js'
import writing from './writing/slice.js'

/** Each section's slice of the state, by the section's id. */
export const slices = {
  opening,
  'worked-example': workedExample,
  'scale-and-shift': scaleAndShift,
  'deep-stack': deepStack,
  divisor,
  'batch-norm': batchNorm,
  gelu,
  'feed-forward': feedForward,
  'transformer-block': transformerBlock,
  writing,
}

/**
 * The page's state: each section's part, by the section's id.
 *
 * @typedef {{ [Id in keyof typeof slices]: StateOf<(typeof slices)[Id]> }} States
 * @typedef {keyof States} SectionId
 */

/**
 * @template {SectionId} Id
 * @typedef {{ page: Page, gpt: Gpt, id: Id }} SectionProps
 */

/** @typedef {Component<SectionProps<any>>} SectionComponent */

/**
 * @typedef {object} Section
 * @property {SectionId} id also the section's anchor, and the prefix of its names in the address
 * @property {string} title
 * @property {boolean} [opens] the page: its title is the page's
 * @property {SectionComponent} [component]
 * @property {() => Promise<{ default: SectionComponent }>} [load] fetches the component, if it is not given
 */

/** @type {readonly Section[]} */
export const sections = [
  { id: 'opening', title: 'What layer normalization does', opens: true, component: Opening },
  {
    id: 'worked-example',
    title: 'What it does',
    load: () => import('./worked-example/WorkedExample.svelte'),
  },
  {
    id: 'scale-and-shift',
    title: 'Why scale and shift?',
    load: () => import('./scale-and-shift/ScaleAndShift.svelte'),
  },
  { id: 'deep-stack', title: 'Why it’s needed', load: () => import('./deep-stack/DeepStack.svelte') },
  {
    id: 'transformer-block',
    title: 'Where it sits in GPT',
    load: () => import('./transformer-block/TransformerBlock.svelte'),
  },
  {
    id: 'batch-norm',
    title: 'Layer norm or batch norm?',
    load: () => import('./batch-norm/BatchNorm.svelte'),
  },
  { id: 'divisor', title: 'n or n − 1?', load: () => import('./divisor/Divisor.svelte') },
  {
    id: 'writing',
    title: 'Watch every layer norm at work',
    load: () => import('./writing/Writing.svelte'),
  },
  { id: 'gelu', title: 'Appendix: GELU', load: () => import('./gelu/Gelu.svelte') },
  {
    id: 'feed-forward',
    title: 'Appendix: FeedForward',
    load: () => import('./feed-forward/FeedForward.svelte'),
  },
]
