// The page's sections, in its order. One more is a line here, a slice and a component; what the line's `load` imports is
// downloaded when the reader comes near, so every section but the first has its own chunk.

/** @import { Slice } from '../fields.js' */
/** @import { Component } from 'svelte' */

import Layer from './layer/Layer.svelte'
import feedforward from './feedforward/slice.js'
import gelu from './gelu/slice.js'
import gradients from './gradients/slice.js'
import gpt from './gpt/slice.js'
import layer from './layer/slice.js'
import norms from './norms/slice.js'
import variance from './variance/slice.js'

/** @typedef {Component<{ page: any, gpt: any, id: string }>} SectionComponent */

/**
 * @type {{
 *   id: string, title: string, slice: Slice<any>,
 *   component?: SectionComponent, load?: () => Promise<{ default: SectionComponent }>
 * }[]}
 */
export const sections = [
  { id: 'layer', title: 'One layer, two samples', slice: layer, component: Layer },
  {
    id: 'variance',
    title: 'Biased or unbiased?',
    slice: variance,
    load: () => import('./variance/Variance.svelte'),
  },
  { id: 'norms', title: 'Layer norm, batch norm', slice: norms, load: () => import('./norms/Norms.svelte') },
  { id: 'gelu', title: 'GELU', slice: gelu, load: () => import('./gelu/Gelu.svelte') },
  {
    id: 'feedforward',
    title: 'FeedForward',
    slice: feedforward,
    load: () => import('./feedforward/FeedForward.svelte'),
  },
  {
    id: 'gradients',
    title: 'Why: gradients',
    slice: gradients,
    load: () => import('./gradients/Gradients.svelte'),
  },
  { id: 'gpt', title: 'Where in GPT', slice: gpt, load: () => import('./gpt/Gpt.svelte') },
]
