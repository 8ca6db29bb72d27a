/* What a kernel's outputs may differ from those of its reference, and the inputs that other kernels make. */
#ifndef GPT_JUDGES_H
#define GPT_JUDGES_H

#include "table.h"

void judge_nothing(const trial *t);
void judge_affine_forward(const trial *t);
void judge_affine_backward(const trial *t);
void judge_int8_quantize(const trial *t);
void judge_int8_pack(const trial *t);
void judge_int8_dequantize(const trial *t);
void judge_int8_linear(const trial *t);
void judge_gelu_forward(const trial *t);
void judge_gelu_backward(const trial *t);
void judge_layernorm_forward(const trial *t);
void judge_layernorm_backward(const trial *t);
void judge_batchnorm_statistics(const trial *t);
void judge_batchnorm_update(const trial *t);
void judge_batchnorm_forward(const trial *t);
void judge_batchnorm_backward(const trial *t);
void judge_rmsnorm_forward(const trial *t);
void judge_rmsnorm_backward(const trial *t);
void judge_embedding_backward(const trial *t);
void judge_softmax_forward(const trial *t);
void judge_softmax_backward(const trial *t);
void judge_feedforward(const trial *t);
void judge_attention_forward(const trial *t);
void judge_attention_cached(const trial *t);
void judge_attention_int8(const trial *t);
void judge_attention_weights(const trial *t);
void judge_attention_backward(const trial *t);
void judge_crossentropy_forward(const trial *t);
void judge_crossentropy_backward(const trial *t);
void judge_mse_forward(const trial *t);
void judge_mse_backward(const trial *t);
void judge_sgd(const trial *t);
void judge_adam(const trial *t);
void judge_mean(const trial *t);
void judge_var(const trial *t);
void judge_sum(const trial *t);
void judge_sum_columns(const trial *t);
void judge_square_sum(const trial *t);
void judge_exp(const trial *t);
void judge_log(const trial *t);
void judge_tanh(const trial *t);
void judge_pow(const trial *t);
void judge_sin(const trial *t);
void judge_cos(const trial *t);
void judge_sigmoid(const trial *t);
void judge_silu_forward(const trial *t);
void judge_silu_backward(const trial *t);
void judge_transpose(const trial *t);
void judge_linear_init(const trial *t);
void judge_uniform(const trial *t);
void judge_normal(const trial *t);

void prepare_int8_linear(trial *t);
void prepare_attention_int8(trial *t);
void prepare_layernorm(trial *t);
void prepare_batchnorm_forward(trial *t);
void prepare_batchnorm_backward(trial *t);
void prepare_rmsnorm(trial *t);
void prepare_softmax(trial *t);
void prepare_attention_weights(trial *t);
void prepare_attention_backward(trial *t);
void prepare_crossentropy(trial *t);

#endif
