// The papers that the page rests on, in the order in which it comes to them.

export const SOURCES = [
  { who: 'Ba, Kiros, Hinton 2016', title: 'Layer Normalization', href: 'https://arxiv.org/abs/1607.06450' },
  { who: 'Ioffe, Szegedy 2015', title: 'Batch Normalization', href: 'https://arxiv.org/abs/1502.03167' },
  {
    who: 'Vaswani et al. 2017',
    title: 'Attention Is All You Need',
    href: 'https://arxiv.org/abs/1706.03762',
  },
  {
    who: 'Xiong et al. 2020',
    title: 'On Layer Normalization in the Transformer Architecture',
    href: 'https://arxiv.org/abs/2002.04745',
  },
  {
    who: 'Zhang, Sennrich 2019',
    title: 'Root Mean Square Layer Normalization',
    href: 'https://arxiv.org/abs/1910.07467',
  },
  {
    who: 'onnxruntime 31626',
    title: 'fp16 overflow in a decomposed LayerNorm',
    href: 'https://github.com/microsoft/onnxruntime/issues/31626',
  },
]
