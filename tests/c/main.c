/* Runs the promises of all kernels. */
#include "check.h"

int main(void)
{
    test_simd();
    test_sizes();
    test_sums();
    test_status();
    test_relu();
    test_gelu();
    test_elementwise();
    test_reduce();
    test_transpose();
    test_gemm();
    test_linear();
    test_conv1d();
    test_int8();
    test_layernorm();
    test_dropout();
    test_embedding();
    test_softmax();
    test_rmsnorm();
    test_batchnorm();
    test_feedforward();
    test_attention();
    test_attention_cached();
    test_crossentropy();
    test_mse();
    test_sgd();
    test_adamw();
    test_parts();
    test_random();
    return summary();
}
