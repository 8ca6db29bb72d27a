#include "affine.h"
#include "check.h"
#include "gpt_layers.h"
#include "reference.h"

static const affine layer = {gpt_conv1d_scratch_size, gpt_conv1d_backward_scratch_size,
                             gpt_conv1d_forward,      gpt_conv1d_forward_ref,
                             gpt_conv1d_backward,     gpt_conv1d_backward_ref};

static void known_values(void)
{
    static const float weight[6] = {1.0f, 0.5f, 2.0f, 0.0f, -1.0f, 2.0f};
    static const float dweight[6] = {-2.0f, 2.0f, 6.0f, -2.0f, 4.0f, 10.0f};
    affine_known_values(layer, weight, dweight);
}

static void forward_is_exact(void) { affine_forward_is_exact(layer); }
static void forward_agrees(void) { affine_forward_agrees(layer); }
static void forward_agrees_on_specials(void) { affine_forward_agrees_on_specials(layer); }
static void backward_is_exact(void) { affine_backward_is_exact(layer); }
static void backward_agrees(void) { affine_backward_agrees(layer); }
static void backward_agrees_on_specials(void) { affine_backward_agrees_on_specials(layer); }
static void test_conv1d(void)
{
    promise("conv1d and its gradients of a small example are those computed by hand", known_values);
    promise("conv1d of integers is exact at every size, also in parts", forward_is_exact);
    promise("conv1d is within the bound of its roundings at every size", forward_agrees);
    promise("conv1d of special values is right at every position", forward_agrees_on_specials);
    promise("conv1d backward of integers is exact at every size, also in parts and for some outputs",
            backward_is_exact);
    promise("conv1d backward is within the bound of its roundings at every size", backward_agrees);
    promise("conv1d backward of special values is right at every position", backward_agrees_on_specials);
}

SUITE("conv1d", test_conv1d)
